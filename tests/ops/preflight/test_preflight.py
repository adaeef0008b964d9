"""The command: one table, every check, and an exit code that never calls the unknown ok."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from functools import partial

import pytest

from ops.aws import SIGN_IN
from ops.preflight import run
from ops.preflight.asking import Aws
from ops.preflight.content import images
from tests.harness import ROOT
from tests.ops.conftest import ACCOUNT
from tests.ops.preflight.cloud import DENIED, THROTTLED, Refusal

ALL = [
    *("account", "quotas", "reservations", "offerings", "spot", "bucket"),
    *("registry", "images", "ami", "addresses", "versions"),
]


HEAVY = ("pulumi", "boto3", "botocore", "kubernetes", "yaml", "settings", "infra", "serving")


@pytest.fixture
def preflight(ops, cloud, registries, monkeypatch):
    """`preflight(...)`: the command before the scripted AWS and registries."""
    monkeypatch.setattr("ops.preflight.asking.Aws", partial(Aws, make=cloud.make))
    monkeypatch.setitem(run.CHECKS, "images", partial(images.check, registries=registries))
    return lambda *more: ops("preflight", *more)


def found(out):
    return [(it["check"], it["verdict"]) for it in json.loads(out)["findings"]]


def test_a_stack_with_nothing_in_its_way_is_0_and_every_check_says_so(preflight):
    code, out, err = preflight("--json")
    told = json.loads(out)
    assert (code, told["stack"], told["region"], told["verdict"]) == (0, "dev", "us-west-2", "ok")
    assert list(dict.fromkeys(check for check, _ in found(out))) == ALL
    assert {verdict for _, verdict in found(out)} == {"ok"}
    assert [it.keys() for it in told["findings"]] == [{"verdict", "check", "subject", "found", "fix", "figures"}] * len(
        told["findings"]
    )
    assert err.startswith("preflight: whose credentials (0 s)\n")
    assert "preflight: 10 of 10 (" in err


def test_people_get_a_table_with_a_line_for_each_finding(preflight):
    code, out, _ = preflight("--only", "offerings")
    assert code == 0
    head, *lines = [re.split(r" {2,}", line) for line in out.splitlines()]
    assert head == ["VERDICT", "CHECK", "SUBJECT", "FOUND", "FIX"]
    assert lines == [
        ["ok", "account", ACCOUNT, f"arn:aws:iam::{ACCOUNT}:role/x; us-west-2 answers"],
        ["ok", "offerings", "rtx-pro-6000", "g7e.2xlarge, g7e.4xlarge in us-west-2a, us-west-2b"],
        ["ok", "offerings", "system nodes", "m7i.large in us-west-2a, us-west-2b"],
    ]


def test_only_the_named_checks_ask(preflight, cloud):
    code, out, _ = preflight("--json", "--only", "ami", "--only", "versions")
    assert code == 0
    assert [check for check, _ in found(out)] == ["account", "ami", *["versions"] * 7]
    assert {name for name, _ in cloud.asked} == {
        "GetCallerIdentity",
        "GetParameter",
        "DescribeClusterVersions",
        "DescribeAddonVersions",
    }


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (
            ("--only", "qoutas"),
            f"--only qoutas: no check; expected {', '.join(ALL)}\n",
        ),
        (("--pins", "--only", "ami"), "--pins and --only: one at a time\n"),
        (("--only", ""), "Error: Invalid value for '--only': empty\n"),
        (("--stack", "qa"), "--stack qa: Pulumi.qa.yaml is not here; expected dev, prod, staging\n"),
    ],
    ids=["no check", "pins and only", "empty", "no stack"],
)
def test_usage_is_2_and_nothing_is_asked(preflight, cloud, arguments, said):
    code, out, err = preflight(*arguments)
    assert (code, out) == (2, "")
    assert err.endswith(said)
    assert cloud.asked == []


def test_what_fails_is_1_what_nobody_knows_3_and_both_1(preflight, cloud):
    cloud.on("GetParameter", DENIED)
    assert preflight()[0] == 3
    cloud.on("GetRole", Refusal("NoSuchEntity"))
    code, out, _ = preflight("--json")
    assert (code, json.loads(out)["verdict"]) == (1, "fail")


def test_a_warning_alone_is_0(preflight, cloud, edit):
    edit(lambda settings: settings["gpuPools"]["rtx-pro-6000"].update(instanceTypes={"gpus": 1}))
    cloud.on("GetSpotPlacementScores", {"SpotPlacementScores": [{"Region": "us-west-2", "Score": 2}]})
    code, out, _ = preflight("--json")
    assert (code, json.loads(out)["verdict"]) == (0, "warn")


def test_every_check_runs_although_all_before_it_failed(preflight, cloud):
    for operation in list(cloud.answers):
        if operation != "GetCallerIdentity":
            cloud.on(operation, THROTTLED)
    code, out, _ = preflight("--json")
    assert code == 3
    verdicts = found(out)
    assert list(dict.fromkeys(check for check, _ in verdicts)) == ALL
    assert {verdict for check, verdict in verdicts if check not in {"account", "images", "reservations"}} == {"unknown"}


def test_another_account_is_refused_and_nothing_else_is_asked(preflight, cloud):
    arn = "arn:aws:iam::999988887777:user/me"
    cloud.on("GetCallerIdentity", {"Account": "999988887777", "Arn": arn, "UserId": "x"})
    for more in ((), ("--pins",), ("--only", "ami")):
        code, out, err = preflight(*more)
        assert (code, out) == (1, "")
        assert err.splitlines()[-1] == (
            f"account.id: the stack file names {ACCOUNT}, and your credentials are {arn} of 999988887777;"
            " nothing else was asked. Log in to the stack's account, or correct account.id"
        )
    assert {name for name, _ in cloud.asked} == {"GetCallerIdentity"}


def test_a_check_that_breaks_is_a_line_and_stops_no_other(preflight, cloud):
    cloud.on("DescribeVpcs", {})
    code, out, _ = preflight("--json")
    (broken,) = [it for it in json.loads(out)["findings"] if it["verdict"] != "ok"]
    assert code == 3
    assert broken == {
        "verdict": "unknown",
        "check": "addresses",
        "subject": "-",
        "found": "the check itself broke: KeyError: 'Vpcs'",
        "fix": "report it",
        "figures": {},
    }


def test_help_needs_none_of_the_sdks_and_has_an_example():
    script = (
        "import sys\nfrom ops.cli import app\n"
        "try:\n    app(['preflight', '--help'])\nexcept SystemExit as end:\n    assert not end.code\n"
        f"print('loaded:', *sorted({{*{HEAVY!r}}} & sys.modules.keys()))"
    )
    done = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert "Example: .venv/bin/python -m ops preflight --stack prod" in done.stdout
    assert [name for name in ALL if name not in done.stdout] == []
    assert done.stdout.splitlines()[-1] == "loaded:"


def test_the_account_alone_can_be_asked(preflight):
    code, out, _ = preflight("--json", "--only", "account")
    assert (code, found(out)) == (0, [("account", "ok")])


def test_without_credentials_nothing_can_be_told(ops, folder):
    assert ops("preflight") == (
        3,
        "",
        f"preflight: whose credentials (0 s)\nsts:GetCallerIdentity: Unable to locate credentials; {SIGN_IN}\n",
    )


def test_pins_are_yaml_to_paste_below_the_addons(preflight, edit):
    code, out, _ = preflight("--pins")
    assert (code, out) == (
        0,
        "vpcCni: v1.10.2-eksbuild.3\n"
        "kubeProxy: v1.10.2-eksbuild.3\n"
        "podIdentityAgent: v1.10.2-eksbuild.3\n"
        "coredns: v1.10.2-eksbuild.3\n"
        "metricsServer: v1.10.2-eksbuild.3\n"
        "mountpointS3: v1.10.2-eksbuild.3\n",
    )
    as_json = json.loads(preflight("--pins", "--json")[1])
    edit(lambda settings: settings["cluster"].update(addons=as_json))
    assert preflight("--only", "versions")[0] == 0
