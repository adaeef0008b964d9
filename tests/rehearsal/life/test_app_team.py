"""An application team's project on the real engine, against the state of a platform stack in the same backend."""

import json
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from contract.release import released
from rehearsal.admit import manifests
from rehearsal.control_plane import admission
from rehearsal.control_plane.server import control_plane
from rehearsal.life import destroy, up
from rehearsal.preview import preview
from rehearsal.providers.journal import Journal
from tests.harness import ROOT

APP = ROOT / "examples" / "app-team"
URL = "http://gemma.inference.svc.cluster.local:8000/v1"
POLICY = "kubernetes:networking.k8s.io/v1:NetworkPolicy"
KINDS = {
    "kubernetes:core/v1:Namespace",
    "kubernetes:core/v1:ServiceAccount",
    "kubernetes:core/v1:ConfigMap",
    POLICY,
    "kubernetes:apps/v1:Deployment",
    "aws:iam/role:Role",
    "aws:iam/rolePolicy:RolePolicy",
    "aws:eks/podIdentityAssociation:PodIdentityAssociation",
}
TOKEN = (("app-team:token", "a-token-of-the-tests-000000"),)
POLICIES = ROOT / "policies"


def test_an_application_comes_up_on_what_the_platform_has_exported_and_goes_without_it(
    state: Path, cloud: Callable[[Path], dict[tuple[str, str], dict[str, Any]]]
) -> None:
    platform = cloud(state)
    planned = preview("dev", project=APP, state=state, policies=POLICIES)
    made = up("dev", project=APP, state=state, policies=POLICIES)
    for plan in (planned, made):
        assert plan.outputs == {"url": URL, "model": "gemma-4-31b"}
        assert {r.type for r in plan.changes() if r.type.startswith(("kubernetes:", "aws:"))} == KINDS
        (container,) = plan.one("kubernetes:apps/v1:Deployment").inputs["spec"]["template"]["spec"]["containers"]
        env = {item["name"]: item["value"] for item in container["env"]}
        assert (env["OPENAI_BASE_URL"], env["MODEL"]) == (URL, "gemma-4-31b")
        assert container["image"].startswith("000000000000.dkr.ecr.us-west-2.amazonaws.com/inference-dev/ecr-public/")
        # the whole route is known in the preview: what S3's addresses are, the platform has said
        (s3,) = [rule for rule in plan.one(POLICY).inputs["spec"]["egress"] if rule["ports"][0]["port"] == 443]
        assert [peer["ipBlock"]["cidr"] for peer in s3["to"]] == ["192.0.2.0/24", "198.51.100.0/24"]
    # no rule of the pack speaks, and in `up` nothing stays unchecked
    assert planned.findings is not None
    assert [it for it in planned.findings if it.level != "unchecked"] == []
    assert made.findings == ()
    # nothing waits for `up`: all of the platform is known when it is there
    kubeconfig = json.loads(planned.one("pulumi:providers:kubernetes").inputs["kubeconfig"])
    assert kubeconfig["clusters"]
    assert preview("dev", project=APP, state=state).changes() == ()
    assert {kind for kind, _ in cloud(state).keys() - platform.keys()} == KINDS
    destroy("dev", project=APP, state=state)
    assert cloud(state).keys() == platform.keys()


def test_an_application_s_objects_are_admitted_by_a_real_api_server(state: Path, tmp_path: Path) -> None:
    journal = Journal()
    up("dev", project=APP, state=state, journal=journal, secrets=TOKEN)
    with control_plane(tmp_path / "control-plane") as server:
        report = admission.admit(server, manifests(journal))
    assert report.refusals == ()
    assert sorted(it.kind for it in report.admitted) == [
        "ConfigMap",
        "Deployment",
        "Namespace",
        "NetworkPolicy",
        "Pod of Deployment",
        "Secret",
        "ServiceAccount",
    ]
    assert [it.warnings for it in report.admitted if it.warnings] == []


@pytest.fixture
def refusal(
    tmp_path: Path, project: Callable[..., Path], run: Callable[..., subprocess.CompletedProcess[str]]
) -> Callable[..., str]:
    """`refusal({"region": 7})`: how the example's preview ends on a platform that exports just that.

    In a process of its own: the SDK leaves coroutines behind where it fails.
    """
    app, state = tmp_path / "app", tmp_path / "state"

    def end(exported: dict[str, Any], **config: str) -> str:
        program = f"import pulumi\nfor name, value in {exported!r}.items():\n    pulumi.export(name, value)\n"
        up("dev", project=project(program), state=state)
        shutil.copytree(APP, app)
        content = yaml.safe_load((app / "Pulumi.dev.yaml").read_text())
        given = {"platform": "organization/own/dev", **config}
        content["config"] |= {f"app-team:{key}": value for key, value in given.items()}
        (app / "Pulumi.dev.yaml").write_text(yaml.safe_dump(content))
        done = run("preview", "--stack", "dev", "--project", str(app), "--state", str(state))
        assert (done.returncode, done.stdout) == (1, "")
        return done.stderr.rstrip("\n")

    return end


GOOD = {
    "region": "us-west-2",
    "clusterName": "c",
    "clusterEndpoint": "https://c",
    "kubeconfig": "{}",
    "namespace": "inference",
    "modelBucket": "b",
    "imagePrefixes": {},
    "imageRepositories": {},
    "gpuPools": {},
    "servers": {"gemma": {"url": "http://g/v1", "model": "g", "cachePrefix": "c/"}},
}


def test_outputs_that_are_missing_or_of_another_type_are_named_in_one_line(refusal: Callable[..., str]) -> None:
    exported = {**GOOD, "namespace": 7, "servers": {"gemma": {"url": "http://g/v1", "cachePrefix": "c/"}}}
    del exported["modelBucket"]
    assert refusal(exported) == (
        "organization/own/dev has other outputs than this program reads: namespace: Input should be a valid string;"
        " modelBucket is missing; servers.gemma.model is missing"
    )


def test_a_platform_of_another_version_is_one_line(refusal: Callable[..., str]) -> None:
    assert refusal({**GOOD, "outputsVersion": "2.0"}) == (
        "organization/own/dev exports outputs of version 2.0, and this program reads 1.x: it needs the outputs.py of"
        " that platform"
    )


def test_a_platform_that_is_too_old_for_the_example_is_one_line(refusal: Callable[..., str]) -> None:
    said = "app-team:platform: its outputs are of version 1.0, and this program needs 1.1"
    assert refusal(GOOD) == said


READER = """
import sys
sys.path.insert(0, {root!r})
import pulumi
import outputs

platform = outputs.read(pulumi.StackReference("organization/own/dev"))
pulumi.export("version", platform.apply(lambda it: it.outputs_version))
pulumi.export("model", platform.apply(lambda it: it.servers["gemma"].model))
pulumi.export("says", platform.apply(lambda it: it.servers["gemma"].pods is not None))
"""


def test_a_platform_of_before_and_one_of_after_are_read(project: Callable[..., Path], tmp_path: Path) -> None:
    """1.0 as `contract/released/1.0.json` has it; a later one of the same number, with what nobody here knows."""
    jsonschema.validate(GOOD, released()[1, 0])
    state, reader = tmp_path / "state", tmp_path / "reader"
    reader.mkdir()
    (reader / "Pulumi.yaml").write_text("name: reader\nruntime: python\n")
    (reader / "Pulumi.dev.yaml").write_text("config: {}\n")
    (reader / "__main__.py").write_text(READER.format(root=str(ROOT)))
    platform = project("")
    gemma = {**GOOD["servers"]["gemma"], "pods": {"labels": {}, "port": 8000, "later": 1}}
    later = {**GOOD, "servers": {"gemma": gemma}, "outputsVersion": "1.9", "later": {"a": 1}}
    for exported, read in ((GOOD, ("1.0", False)), (later, ("1.9", True))):
        program = f"import pulumi\nfor name, value in {exported!r}.items():\n    pulumi.export(name, value)\n"
        (platform / "__main__.py").write_text(program)
        up("dev", project=platform, state=state)
        found = preview("dev", project=reader, state=state).outputs
        assert found == {"version": read[0], "model": "g", "says": read[1]}


def test_a_server_that_the_platform_does_not_have_is_one_line(refusal: Callable[..., str]) -> None:
    assert refusal(GOOD, server="qwen") == 'app-team:server: "qwen"; the platform serves gemma'


def test_a_platform_that_does_not_exist_is_one_line(refusal: Callable[..., str]) -> None:
    line = refusal(GOOD, platform="organization/vllm-eks/nowhere")
    assert line.endswith('unknown stack "organization/vllm-eks/nowhere"')
    assert "\n" not in line
