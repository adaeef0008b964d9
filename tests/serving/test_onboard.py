"""The onboarding Job: one writer a folder, no disk, no root and no token in clear."""

import re
from typing import Any

import pytest

from infra.cluster.system_nodes import SYSTEM_LABEL
from infra.image_cache.reference import image_reference
from serving.model import ModelUri
from serving.onboard import IMAGE, SCRIPTS, Onboarding, job

COMMIT = "0123456789abcdef0123456789abcdef01234567"


def onboarding(prefix: str = "models/gemma/r1/", **more: Any) -> Onboarding:
    return Onboarding(repository="acme/gemma", commit=COMMIT, uri=ModelUri("bucket", prefix), **more)


def made(given: Onboarding | None = None, **more: Any) -> dict[str, Any]:
    names = {"namespace": "inference", "service_account": "onboarding", "scripts": "onboard-scripts"}
    manifest: dict[str, Any] = job(
        given or onboarding(), image="registry/python:3", region="us-west-2", **names, **more
    )
    return manifest


def pod(**more: Any) -> dict[str, Any]:
    return made(**more)["spec"]["template"]["spec"]  # type: ignore[no-any-return]


def container(**more: Any) -> dict[str, Any]:
    (only,) = pod(**more)["containers"]
    return only  # type: ignore[no-any-return]


def test_the_image_has_a_fixed_version_and_comes_from_a_registry_without_credentials() -> None:
    reference = image_reference(IMAGE)
    assert reference.registry == "public.ecr.aws"
    assert reference.tag
    assert reference.tag[0].isdigit()
    assert reference.tag.count(".") == 2


def test_the_pod_passes_the_restricted_pod_security_standard() -> None:
    spec, only = pod(), container()
    assert spec["securityContext"]["runAsNonRoot"] is True
    assert spec["securityContext"]["runAsUser"] > 0
    assert spec["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    assert only["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "capabilities": {"drop": ["ALL"]},
        "readOnlyRootFilesystem": True,
    }
    assert [set(volume) - {"name"} for volume in spec["volumes"]] == [{"configMap"}]


def test_it_runs_on_a_system_node_and_states_its_disk() -> None:
    resources = container()["resources"]
    assert pod()["nodeSelector"] == {SYSTEM_LABEL: "true"}
    assert resources["requests"]["ephemeral-storage"] == "64Mi"
    assert "nvidia.com/gpu" not in str(made())


def test_it_has_no_kubernetes_token_and_no_service_links() -> None:
    assert pod()["automountServiceAccountToken"] is False
    assert pod()["enableServiceLinks"] is False


def test_PUL_02_the_token_comes_from_a_secret_or_not_at_all() -> None:
    assert "HF_TOKEN" not in str(made())
    (token,) = [item for item in container(token_secret="hub")["env"] if item["name"] == "HF_TOKEN"]  # noqa: S106 - a Secret's name
    assert token == {"name": "HF_TOKEN", "valueFrom": {"secretKeyRef": {"name": "hub", "key": "token"}}}


def test_a_failed_check_is_not_tried_again_and_a_lost_node_does_not_count() -> None:
    spec = made()["spec"]
    ignored, failed = spec["podFailurePolicy"]["rules"]
    assert ignored["onPodConditions"] == [{"type": "DisruptionTarget", "status": "True"}]
    assert failed["onExitCodes"] == {"containerName": "onboard", "operator": "In", "values": [1, 2]}
    assert spec["template"]["spec"]["restartPolicy"] == "Never"


def test_there_is_never_a_second_writer_of_one_folder() -> None:
    spec = made()["spec"]
    assert (spec["parallelism"], spec["completions"], spec["podReplacementPolicy"]) == (1, 1, "Failed")
    assert onboarding().job_name == onboarding(exclude=["*.md"]).job_name
    assert onboarding().job_name != onboarding("models/gemma/r2/").job_name


@pytest.mark.parametrize("name", ["gemma", "a" * 63, "Gemma_4.1-"])
def test_the_jobs_name_fits(name: str) -> None:
    given = onboarding(f"models/{name}/r1/").job_name
    assert len(given) <= 63
    assert re.fullmatch(r"[a-z0-9]([a-z0-9-]*[a-z0-9])?", given)


def test_no_value_can_be_taken_for_an_option() -> None:
    args = onboarding(include=["-x"], exclude=["*.bin"], allow_pickle=True).arguments
    assert args == [
        "--repository=acme/gemma",
        f"--revision={COMMIT}",
        "--to=s3://bucket/models/gemma/r1/",
        "--include=-x",
        "--exclude=*.bin",
        "--allow-pickle",
    ]
    assert container()["command"] == ["python", "-B", f"{SCRIPTS}/onboard.py"]
