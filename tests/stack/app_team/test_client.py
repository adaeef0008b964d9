"""What the example registers: where it goes, in which order, and that nothing of it is copied from the platform."""

import ast
import json
import sys
from collections.abc import Callable
from typing import Any

import pulumi
import pytest

import client
from infra.iam import pod_identity_trust
from serving.jobs.small import IMAGE
from tests.harness import ROOT, Recording, document, record_program, stack_settings
from tests.stack.app_team import APP, CONFIG, DEPLOYMENT
from tests.stack.app_team.conftest import TOKEN

CACHE = "000000000000.dkr.ecr.us-west-2.amazonaws.com/inference-dev/ecr-public"
KINDS = {"Namespace", "NetworkPolicy", "ServiceAccount", "ConfigMap", "Secret", "Deployment"}


def pod(recording: Recording) -> dict[str, Any]:
    return recording.one(DEPLOYMENT).inputs["spec"]["template"]["spec"]


def test_the_interface_is_one_module_that_stands_alone() -> None:
    assert (APP / "outputs.py").resolve() == ROOT / "outputs.py"
    tree = ast.parse((ROOT / "outputs.py").read_text())
    imported = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    imported |= {str(node.module) for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    packages = {name.partition(".")[0] for name in imported}
    assert packages - sys.stdlib_module_names == {"pulumi", "pydantic"}


def test_the_example_imports_nothing_of_this_repository() -> None:
    own = {path.stem for path in APP.glob("*.py")}
    allowed = own | sys.stdlib_module_names | {"pulumi", "pulumi_aws", "pulumi_kubernetes"}
    for path in APP.glob("*.py"):
        if path.name != "outputs.py":
            nodes = list(ast.walk(ast.parse(path.read_text())))
            names = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
            names |= {str(node.module) for node in nodes if isinstance(node, ast.ImportFrom)}
            assert {name.partition(".")[0] for name in names} <= allowed, path


def test_the_example_pins_what_the_platform_pins() -> None:
    pins = (APP / "requirements.txt").read_text().split()
    assert {pin.partition("==")[0] for pin in pins} == {"pulumi", "pulumi-aws", "pulumi-kubernetes", "pydantic"}
    assert set(pins) <= set((ROOT / "requirements.in").read_text().split())
    assert client.PYTHON == IMAGE


def test_everything_goes_to_the_published_cluster_and_account(recorded: Recording, dev: Recording) -> None:
    assert CONFIG["pulumi:disable-default-providers"] == ["aws", "kubernetes"]
    provider = recorded.one("pulumi:providers:kubernetes")
    assert provider.inputs["kubeconfig"] == dev.outputs["kubeconfig"]
    assert provider.inputs["clusterIdentifier"] == dev.outputs["clusterEndpoint"]
    objects = [r for r in recorded.registered if r.kind.startswith("kubernetes:")]
    assert {r.kind.rpartition(":")[2] for r in objects} == KINDS
    assert {r.provider.rpartition("::")[0] for r in objects} == {provider.urn}
    assert {r.parent.rpartition("::")[0].rpartition("::")[2] for r in objects} == {"app-team:index:Client"}
    cloud = recorded.one("pulumi:providers:aws")
    assert (cloud.inputs["region"], json.loads(cloud.inputs["allowedAccountIds"])) == ("us-west-2", ["000000000000"])
    roles = [r for r in recorded.registered if r.kind.startswith("aws:")]
    assert {r.kind.rpartition(":")[2] for r in roles} == {"Role", "RolePolicy", "PodIdentityAssociation"}
    assert {r.provider.rpartition("::")[0] for r in roles} == {cloud.urn}
    assert {r.parent.rpartition("::")[0].rpartition("::")[2] for r in roles} == {"app-team:index:ModelReader"}


def test_the_client_knows_the_server_from_the_platform_alone(recorded: Recording, dev: Recording) -> None:
    server = dev.outputs["servers"]["gemma"]
    (container,) = pod(recorded)["containers"]
    assert {item["name"]: item["value"] for item in container["env"]} == {
        "OPENAI_BASE_URL": server["url"],
        "MODEL": server["model"],
        "QUESTION": "What is a cold start, in one sentence?",
        "TOKENIZER": "/model/tokenizer.json",
        "TOKEN_FILE": "/token/token",
    }
    assert recorded.outputs == {"url": server["url"], "model": server["model"]}
    (first,) = pod(recorded)["initContainers"]
    bucket = stack_settings("dev")["servers"]["gemma"]["model"]["uri"]
    assert first["args"] == ["s3", "cp", f"{bucket}tokenizer.json", "/model/", "--no-progress"]


def test_images_come_through_the_platforms_cache_where_there_is_one(
    example: Callable[..., Recording], dev: Recording
) -> None:
    def images(exported: dict[str, Any]) -> list[str]:
        spec = pod(example(exported))
        return [it["image"] for it in (*spec["initContainers"], *spec["containers"])]

    assert images(dev.outputs) == [
        f"{CACHE}/aws-cli/aws-cli:2.36.44",
        f"{CACHE}/docker/library/python:3.13.11-slim-trixie",
    ]
    assert images({**dev.outputs, "imagePrefixes": {}}) == [client.AWS_CLI, client.PYTHON]


def test_the_pod_meets_the_restricted_profile_that_its_namespace_enforces(recorded: Recording) -> None:
    labels = recorded.one("kubernetes:core/v1:Namespace").inputs["metadata"]["labels"]
    assert labels == {"pod-security.kubernetes.io/enforce": "restricted"}
    spec = pod(recorded)
    assert spec["securityContext"]["runAsNonRoot"] is True
    assert (
        spec["securityContext"]["runAsUser"] > 0
    )  # an image's user may be a name, which kubelet cannot compare with 0
    assert spec["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    for container in (*spec["initContainers"], *spec["containers"]):
        assert container["securityContext"] == {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        }
        assert container["resources"].keys() == {"requests", "limits"}
    assert spec["automountServiceAccountToken"] is False


def test_pods_come_after_the_policy_and_after_their_identity(recorded: Recording) -> None:
    needs = recorded.needs(recorded.one(DEPLOYMENT).urn)
    for kind in (
        "kubernetes:networking.k8s.io/v1:NetworkPolicy",
        "aws:eks/podIdentityAssociation:PodIdentityAssociation",
        "aws:iam/rolePolicy:RolePolicy",
    ):
        assert recorded.one(kind).urn in needs
    association = recorded.one("aws:eks/podIdentityAssociation:PodIdentityAssociation")
    assert recorded.one("aws:iam/rolePolicy:RolePolicy").urn in recorded.needs(association.urn)


def test_IAM_01_namespace_and_account_are_the_same_in_trust_association_and_pod(
    recorded: Recording, dev: Recording
) -> None:
    association = recorded.one("aws:eks/podIdentityAssociation:PodIdentityAssociation").inputs
    account = recorded.one("kubernetes:core/v1:ServiceAccount").inputs["metadata"]
    role = recorded.one("aws:iam/role:Role")
    assert association["clusterName"] == dev.outputs["clusterName"]
    assert (association["namespace"], association["serviceAccount"]) == (account["namespace"], account["name"])
    assert pod(recorded)["serviceAccountName"] == account["name"]
    # letter by letter what the platform's own roles say
    wanted = pod_identity_trust(association["clusterName"], association["namespace"], association["serviceAccount"])
    assert document(role, "assumeRolePolicy")["Statement"] == [wanted]


def test_PUL_02_the_token_is_in_one_secret_and_nowhere_else(recorded: Recording) -> None:
    holding = [registration.kind for registration, text in recorded.strings() if TOKEN in text]
    assert holding == ["kubernetes:core/v1:Secret"]
    made = recorded.one("kubernetes:core/v1:Secret")
    # without the line break that came with it, and marked as a secret on its way to the state
    assert made.inputs["stringData"]["value"] == {"token": TOKEN}
    (volume,) = [volume for volume in pod(recorded)["volumes"] if volume["name"] == "token"]
    assert volume["secret"]["secretName"].startswith("client-")
    assert TOKEN not in json.dumps(recorded.outputs)


def test_PUL_02_without_a_token_nothing_of_it_is_rendered(example: Callable[..., Recording], dev: Recording) -> None:
    recording = example(dev.outputs)
    assert recording.maybe("kubernetes:core/v1:Secret") == []
    spec = pod(recording)
    names = [item["name"] for container in spec["containers"] for item in container["env"]]
    assert "TOKEN_FILE" not in names
    assert "token" not in [volume["name"] for volume in spec["volumes"]]


def test_PUL_02_a_token_in_plain_text_has_leaked_and_is_refused(
    example: Callable[..., Recording], dev: Recording
) -> None:
    with pytest.raises(pulumi.RunError) as refused:
        example(dev.outputs, token=TOKEN, secret=False)
    said = "app-team:token: stored as plain text; ask for a new one, and set it with --secret"
    assert str(refused.value) == said


def test_a_server_that_asks_for_a_token_is_not_asked_without_one(
    example: Callable[..., Recording], dev: Recording
) -> None:
    asked = record_program(stack_settings("dev"), secrets={"vllm-eks:apiTokens": TOKEN}).outputs
    assert (asked["servers"]["gemma"]["asksForToken"], dev.outputs["servers"]["gemma"]["asksForToken"]) == (True, False)
    raw = stack_settings("dev")
    raw["servers"]["gemma"]["techniques"] = []
    open_to_all = record_program(raw, secrets={"vllm-eks:apiTokens": TOKEN}).outputs
    assert open_to_all["servers"]["gemma"]["asksForToken"] is False
    with pytest.raises(pulumi.RunError) as refused:
        example(asked)
    assert str(refused.value) == ("app-team:token: missing, and gemma asks for one: pulumi config set --secret token")
    assert example(asked, token=TOKEN).one("kubernetes:core/v1:Secret")


def test_it_waits_for_longer_than_the_server_may_take_to_start(recorded: Recording, dev: Recording) -> None:
    mine, theirs = (it.one(DEPLOYMENT) for it in (recorded, dev))
    assert mine.inputs["spec"]["progressDeadlineSeconds"] > theirs.inputs["spec"]["progressDeadlineSeconds"]
    seconds = int(mine.options["create"].removesuffix("s"))
    assert seconds > mine.inputs["spec"]["progressDeadlineSeconds"]
    assert mine.options["update"] == mine.options["create"]


def test_another_program_text_rolls_the_pods(recorded: Recording) -> None:
    program = recorded.one("kubernetes:core/v1:ConfigMap").inputs
    assert program["immutable"] is True
    assert "name" not in program["metadata"]  # the engine makes it: a replacement has another one
    assert program["data"] == {"chat.py": (APP / "chat.py").read_text()}
