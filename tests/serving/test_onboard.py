"""The template of onboarding Jobs: one writer a folder, no disk, no root, no token in clear."""

import re
from typing import Any

import pulumi
import pytest
from pulumi_aws import eks

from infra.cluster.system_nodes import SYSTEM_LABEL
from infra.image_cache.reference import image_reference
from rehearsal.providers.values import SECRET as SECRET_VALUE
from rehearsal.providers.values import SIGNATURE
from serving.jobs.onboard import CONTAINER, TOKEN, Onboarding, hugging_face_token
from serving.jobs.small import IMAGE
from serving.model import ModelUri
from serving.programs import WEIGHTS, files
from tests.harness import Recording, record_program, stack_settings

CRON_JOB = "kubernetes:batch/v1:CronJob"
SECRET = "kubernetes:core/v1:Secret"  # noqa: S105 - a kind of object
COMMIT = "0123456789abcdef0123456789abcdef01234567"
KEY = f"vllm-eks:{TOKEN}"
HUB_TOKEN = "hf_1234567890"  # noqa: S105 - made up


def onboarding(prefix: str = "models/gemma/r1/", **more: Any) -> Onboarding:
    return Onboarding(repository="acme/gemma", commit=COMMIT, uri=ModelUri("bucket", prefix), **more)


def job(recording: Recording) -> dict[str, Any]:
    return recording.one(CRON_JOB, "weights").inputs["spec"]["jobTemplate"]["spec"]  # type: ignore[no-any-return]


def pod(recording: Recording) -> dict[str, Any]:
    return job(recording)["template"]["spec"]  # type: ignore[no-any-return]


def container(recording: Recording) -> dict[str, Any]:
    (only,) = pod(recording)["containers"]
    return only  # type: ignore[no-any-return]


def test_the_image_has_a_fixed_version_and_comes_from_a_registry_without_credentials() -> None:
    reference = image_reference(IMAGE)
    assert reference.registry == "public.ecr.aws"
    assert reference.tag
    assert re.match(r"\d+\.\d+\.\d+", reference.tag)


def test_nodes_pull_it_through_the_cache(dev: Recording) -> None:
    assert container(dev)["image"].startswith("000000000000.dkr.ecr.us-west-2.amazonaws.com/inference-dev/ecr-public/")


def test_the_pod_passes_the_restricted_pod_security_standard(dev: Recording) -> None:
    spec, only = pod(dev), container(dev)
    assert spec["securityContext"]["runAsNonRoot"] is True
    assert spec["securityContext"]["runAsUser"] > 0
    assert spec["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    assert only["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "capabilities": {"drop": ["ALL"]},
        "readOnlyRootFilesystem": True,
    }
    assert [set(volume) - {"name"} for volume in spec["volumes"]] == [{"configMap"}]


def test_it_runs_on_a_system_node_and_states_its_disk(dev: Recording) -> None:
    resources = container(dev)["resources"]
    assert pod(dev)["nodeSelector"] == {SYSTEM_LABEL: "true"}
    assert resources["requests"]["ephemeral-storage"] == "64Mi"
    assert "cpu" not in resources["limits"]
    assert "nvidia.com/gpu" not in str(job(dev))


ALLOCATABLE = 1930
"""Millicores of a node with 2 vCPU (EKS reserves 6 % of the first, 1 % of the second)."""

AGENTS = 50 + 100 + 30 + 100 + 100
"""Millicores that add-ons ask of it: VPC CNI, kube-proxy, the Mountpoint driver, CoreDNS, metrics server."""


def test_two_of_it_fit_on_the_smallest_system_node_beside_karpenter(dev: Recording) -> None:
    """Its two replicas stand on two nodes; nothing makes a third one, so a Job that does not fit waits for ever."""
    asked = container(dev)["resources"]["requests"]["cpu"]
    release = dev.one("kubernetes:helm.sh/v3:Release", "karpenter").inputs["values"]["controller"]["resources"]
    controller = 1000 * int(release["requests"]["cpu"])
    assert asked.endswith("m")
    assert 2 * int(asked.removesuffix("m")) + controller + AGENTS <= ALLOCATABLE


def test_it_has_no_kubernetes_token_and_no_service_links(dev: Recording) -> None:
    assert pod(dev)["automountServiceAccountToken"] is False
    assert pod(dev)["enableServiceLinks"] is False


def test_its_programs_are_mounted_with_all_that_they_import(dev: Recording) -> None:
    (volume,) = pod(dev)["volumes"]
    (found,) = [
        it.inputs
        for it in dev.all("kubernetes:core/v1:ConfigMap")
        if it.inputs["metadata"]["name"] == volume["configMap"]["name"]
    ]
    assert found["data"] == dict(files(*WEIGHTS))
    assert container(dev)["command"] == ["python", "-B", "/scripts/onboard.py"]
    assert "onboard.py" in found["data"]


def test_it_runs_as_the_one_identity_that_writes_models(dev: Recording) -> None:
    (association,) = [
        it
        for it in dev.all(eks.PodIdentityAssociation)
        if it.inputs["serviceAccount"] == pod(dev)["serviceAccountName"]
    ]
    assert association.urn in dev.needs(dev.one(CRON_JOB, "weights").urn)


def test_PUL_02_a_token_is_a_secret_from_the_configuration_to_the_pod() -> None:
    recording = record_program(stack_settings("dev"), secrets={KEY: HUB_TOKEN})
    secret = recording.one(SECRET)
    assert secret.inputs["stringData"][SIGNATURE] == SECRET_VALUE
    (variable,) = [it for it in container(recording)["env"] if it["name"] == "HF_TOKEN"]
    reference = variable["valueFrom"]["secretKeyRef"]
    assert reference["key"] == "token"
    # the same after the token was renewed: a Job that is tried again finds it
    assert reference["name"] == secret.inputs["metadata"]["name"] == "hugging-face-token"
    assert [it.name for it, text in recording.strings() if HUB_TOKEN in text] == [secret.name]


def test_without_a_token_there_is_no_secret_and_no_variable(dev: Recording) -> None:
    assert not dev.maybe(SECRET)
    assert "HF_TOKEN" not in str(job(dev))


def refused(value: str, *, secret: bool) -> list[str]:
    pulumi.runtime.set_all_config({KEY: value}, [KEY] if secret else [])
    _, complaints = hugging_face_token(pulumi.Config("vllm-eks"))
    return [str(it) for it in complaints]


def test_PUL_02_a_token_in_plain_text_has_leaked_and_is_refused() -> None:
    assert refused(HUB_TOKEN, secret=False) == [
        f"{KEY}: stored as plain text; withdraw that token and set a new one with --secret"
    ]


@pytest.mark.parametrize("value", ["", " ", "hf_a\nhf_b", "hf a", "hf_\u00e9"])
def test_what_cannot_be_a_token_is_refused_without_repeating_it(value: str) -> None:
    assert refused(value, secret=True) == [
        f"{KEY}: not a token; expected the text that Hugging Face shows, such as hf_..."
    ]


def test_a_failed_check_is_not_tried_again_and_a_lost_node_does_not_count(dev: Recording) -> None:
    spec = job(dev)
    ignored, failed = spec["podFailurePolicy"]["rules"]
    assert ignored["onPodConditions"] == [{"type": "DisruptionTarget", "status": "True"}]
    assert failed["onExitCodes"] == {"containerName": CONTAINER, "operator": "In", "values": [1, 2]}
    assert spec["template"]["spec"]["restartPolicy"] == "Never"


def test_there_is_never_a_second_writer_of_one_folder(dev: Recording) -> None:
    spec = job(dev)
    assert (spec["parallelism"], spec["completions"], spec["podReplacementPolicy"]) == (1, 1, "Failed")
    assert onboarding().job_name == onboarding(exclude=["*.md"]).job_name
    assert onboarding().job_name != onboarding("models/gemma/r2/").job_name


@pytest.mark.parametrize("name", ["gemma", "a" * 63, "Gemma_4.1-"])
def test_the_jobs_name_fits(name: str) -> None:
    given = onboarding(f"models/{name}/r1/").job_name
    assert len(given) <= 63
    assert re.fullmatch(r"[a-z0-9]([a-z0-9-]*[a-z0-9])?", given)


def test_no_value_can_be_taken_for_an_option() -> None:
    assert onboarding(include=["-x"], exclude=["*.bin"], allow_pickle=True).arguments == [
        "--repository=acme/gemma",
        f"--revision={COMMIT}",
        "--to=s3://bucket/models/gemma/r1/",
        "--include=-x",
        "--exclude=*.bin",
        "--allow-pickle",
    ]
