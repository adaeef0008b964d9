"""What leaves the job that has a role in AWS: what changes and what policies say, and no value of anything.

The plans are the real engine's, over the offline cloud; the CLI of the last tests is played, as no stack stands here.
"""

import json
import os
import textwrap

import pytest

from ops.review.cloud import document
from ops.review.results import read
from rehearsal.preview import preview
from tests.harness import ROOT
from tests.ops.review.making import written

OTHERS = ROOT / "tests/policies/engine/program"


@pytest.fixture(scope="module")
def plan():
    return preview("good", project=OTHERS, policies=ROOT / "policies")


def values(it):
    if isinstance(it, dict):
        for inner in it.values():
            yield from values(inner)
    elif isinstance(it, list):
        for inner in it:
            yield from values(inner)
    elif isinstance(it, str) and len(it) > 12:
        yield it


def test_no_value_of_a_resource_leaves_it(plan, tmp_path):
    told = document(plan, "", refresh=False)
    text = json.dumps(told["changes"])
    # a type has its API version in it
    names = {
        *(it.type.removeprefix("kubernetes:").rpartition(":")[0] for it in plan.resources),
        *(it.name for it in plan.resources),
    }
    shown = [
        it for resource in plan.resources for it in values(dict(resource.inputs)) if it in text and it not in names
    ]
    assert shown == []
    assert told["counts"] == {"create": len(told["changes"])}
    (found,) = read(written(tmp_path, "good", told, "aws"), ())
    assert {it.action for it in found.aws.changes} == {"create"}
    assert not [it for it in found.aws.changes if it.type.startswith("pulumi:")]


@pytest.mark.parametrize(
    ("said", "refresh", "code"), [("", False, 0), ("no", False, 1), ("", True, 1), ("no", True, 1)]
)
def test_a_change_is_bad_only_where_nobody_asked_for_one(plan, said, refresh, code):
    assert document(plan, said, refresh=refresh)["exitCode"] == code


STATE = {"type": "aws:s3/bucket:Bucket", "urn": "urn:pulumi:dev::vllm-eks::aws:s3/bucket:Bucket::models"}
STEP = {"op": "update", "urn": STATE["urn"], "type": STATE["type"], "provider": "", "diffs": ["tags"]}
NEW = {**STATE, "custom": True, "id": "x", "parent": "", "inputs": {"bucket": "hunter2"}, "outputs": {}, "provider": ""}
EVENTS = [
    {"sequence": 0, "timestamp": 0, "resourcePreEvent": {"metadata": {**STEP, "new": NEW, "old": NEW}}},
    {
        "sequence": 1,
        "timestamp": 0,
        "policyEvent": {
            "resourceUrn": STATE["urn"],
            "message": "why\nsays",
            "color": "never",
            "policyName": "public-bucket",
            "policyPackName": "p",
            "policyPackVersion": "1",
            "policyPackVersionTag": "1",
            "enforcementLevel": "mandatory",
        },
    },
    {
        "sequence": 2,
        "timestamp": 0,
        "summaryEvent": {"maybeCorrupt": False, "durationSeconds": 1, "resourceChanges": {}, "policyPacks": {}},
    },
]


@pytest.fixture
def pulumi(tmp_path, folder, monkeypatch):
    """A CLI on PATH that writes these events where it is told to, and notes what it was asked.

    An old one: newer ones tell their events over gRPC.
    """

    def play(code):
        bin_folder = tmp_path / "bin"
        bin_folder.mkdir()
        script = f"""\
            #!/bin/sh
            echo "$*" >> {tmp_path}/asked
            case "$*" in version) echo v3.205.0; exit 0;; *" preview "*) ;; *) exit 0;; esac
            while [ $# -gt 0 ]; do [ "$1" = --event-log ] && cat {tmp_path}/events > "$2"; shift; done
            echo "error: it stopped" >&2
            exit {code}
            """
        (bin_folder / "pulumi").write_text(textwrap.dedent(script))
        (bin_folder / "pulumi").chmod(0o755)
        (tmp_path / "events").write_text("".join(json.dumps(it) + "\n" for it in EVENTS))
        monkeypatch.setenv("PATH", f"{bin_folder}:{os.environ['PATH']}")
        (folder / "Pulumi.yaml").write_text("name: vllm-eks\nruntime: python\n")
        (folder / "policies").mkdir()
        (folder / "policies" / "config.json").write_text("{}")
        return tmp_path / "asked"

    return play


def test_the_CLI_is_asked_with_the_pack_and_its_events_are_told(pulumi, ops, folder):
    asked = pulumi(code=255)
    code, out, _ = ops("review", "preview", "--output", "results")
    assert code == 1
    assert "the policy pack refuses 1 thing:\n  public-bucket: models: says" in out
    (found,) = read(folder / "results", ())
    assert [(it.name, it.action, it.paths) for it in found.aws.changes] == [("models", "update", ("tags",))]
    assert [(it.rule, it.level) for it in found.aws.findings] == [("public-bucket", "mandatory")]
    assert "hunter2" not in (folder / "results" / "dev.aws.json").read_text() + out
    (line,) = [it for it in asked.read_text().splitlines() if " preview " in it]
    assert f"--policy-pack {folder}/policies --policy-pack-config {folder}/policies/config.json" in line
    assert "--refresh" not in line


def test_drift_is_looked_for_without_the_pack(pulumi, ops, folder):
    asked = pulumi(code=0)
    code, out, _ = ops("review", "preview", "--refresh", "--output", "results")
    assert (code, out) == (1, "update aws:s3/bucket:Bucket models\n")
    (line,) = [it for it in asked.read_text().splitlines() if " preview " in it]
    assert "--refresh" in line
    assert "--policy-pack" not in line


def test_a_CLI_that_says_nothing_is_no_success(pulumi, ops, folder, tmp_path):
    pulumi(code=0)
    (tmp_path / "events").write_text("")
    assert ops("review", "preview", "--output", "results")[:2] == (1, "pulumi preview: summary event never found\n")
