"""Outputs: exported and read from one declaration."""

import asyncio
import json
import re
from typing import Any

import pulumi
import pytest

import outputs
from tests.harness import Recording, record, stack_settings

REFERENCE = "organization/vllm-eks/dev"


def read(exported: dict[str, Any]) -> outputs.Platform:
    seen: list[outputs.Platform] = []
    record(
        lambda: outputs.read(pulumi.StackReference(REFERENCE)).apply(seen.append),
        project="app",
        stacks={REFERENCE: exported},
    )
    (platform,) = seen
    return platform


def test_an_application_reads_what_the_program_exports(recording: Recording, stack: str) -> None:
    settings = stack_settings(stack)
    platform = read(recording.outputs)
    assert platform.cluster_name == settings["name"]
    assert platform.model_bucket == settings["modelBucket"]["name"]
    prefix = settings["imageCache"]["prefix"]
    assert platform.image_prefixes["quay.io"] == f"000000000000.dkr.ecr.us-west-2.amazonaws.com/{prefix}/quay"
    assert platform.namespace == "inference"
    assert platform.region == "us-west-2"
    (server,) = platform.servers.values()
    assert (server.url, server.model) == ("http://gemma.inference.svc.cluster.local:8000/v1", "gemma-4-31b")
    version = settings["servers"]["gemma"]["engine"]["version"]
    assert re.fullmatch(
        rf"vllm-cache/docker\.io_svllm_svllm-openai_cv{version}/rtx-pro-server-6000/gemma-4-31b-it-nvfp4_sr1/[0-9a-f]{{32}}/",
        server.cache_prefix,
    )
    pool = platform.gpu_pools["rtx-pro-6000"]
    assert pool.product == "rtx-pro-server-6000"
    assert pool.toleration == {"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}
    assert json.loads(platform.kubeconfig)["clusters"]


def test_an_output_that_a_newer_platform_adds_is_ignored(dev: Recording) -> None:
    newer = {**dev.outputs, "later": 1, "outputsVersion": "1.99"}
    assert read(newer) == read(dev.outputs).model_copy(update={"outputs_version": "1.99"})


def test_the_program_says_the_version_of_its_outputs(recording: Recording) -> None:
    assert recording.outputs["outputsVersion"] == outputs.VERSION == read(recording.outputs).outputs_version


def test_a_platform_that_says_no_version_is_of_the_first(dev: Recording) -> None:
    older = {key: value for key, value in dev.outputs.items() if key != "outputsVersion"}
    assert read(older).outputs_version == "1.0"


@pytest.mark.parametrize("version", ["2.0", "0.9", "10.1"])
def test_a_platform_of_another_version_is_refused_before_its_outputs_are_looked_at(version: str) -> None:
    with pytest.raises(pulumi.RunError) as refused:
        read({"outputsVersion": version, "region": 7})
    assert str(refused.value) == (
        f"organization/vllm-eks/dev exports outputs of version {version}, and this program reads 1.x: it needs the"
        " outputs.py of that platform"
    )


def test_the_next_version_reads_no_platform_of_before(dev: Recording, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outputs, "VERSION", "2.3")
    older = {key: value for key, value in dev.outputs.items() if key != "outputsVersion"}
    with pytest.raises(pulumi.RunError) as refused:
        read(older)
    assert str(refused.value) == (
        "organization/vllm-eks/dev exports outputs of version 1.0, and this program reads 2.x: it needs the outputs.py"
        " of that platform"
    )


@pytest.mark.parametrize(("version", "spelled"), [(1, "1.0"), ("v1", '"v1"'), ("1", '"1"'), (["1.0"], '["1.0"]')])
def test_a_version_that_is_none_is_refused(version: Any, spelled: str) -> None:
    with pytest.raises(pulumi.RunError) as refused:
        read({"outputsVersion": version})
    expected = f'organization/vllm-eks/dev: outputsVersion: {spelled}; expected a text such as "1.1"'
    assert str(refused.value) == expected


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"namespace": None}, "namespace is missing"),
        ({"servers": {"gemma": {"url": "u", "cachePrefix": "c"}}}, "servers.gemma.model is missing"),
        ({"region": 7}, "region: Input should be a valid string"),
        ({"gpuPools": []}, "gpuPools: Input should be a valid dictionary"),
        (
            {"region": 7, "namespace": None, "servers": {"gemma": {"url": "u", "cachePrefix": "c"}}},
            "region: Input should be a valid string; namespace is missing; servers.gemma.model is missing",
        ),
    ],
)
def test_an_output_that_is_missing_or_of_another_type_is_named_in_one_line(
    dev: Recording, change: dict[str, Any], said: str
) -> None:
    exported = {key: value for key, value in {**dev.outputs, **change}.items() if value is not None}
    with pytest.raises(pulumi.RunError) as refused:
        read(exported)
    assert str(refused.value) == f"organization/vllm-eks/dev has other outputs than this program reads: {said}"


def test_the_program_cannot_export_something_undeclared() -> None:
    message = r"outputs differ from Platform: \['account', 'cluster_endpoint', 'cluster_name', 'extra', .*'servers'\]"
    with pytest.raises(TypeError, match=message):
        outputs.export({"extra": 1})


def test_no_output_is_secret_or_unknown(recording: Recording) -> None:
    assert set(recording.outputs) == {
        "region",
        "clusterName",
        "clusterEndpoint",
        "kubeconfig",
        "namespace",
        "modelBucket",
        "imagePrefixes",
        "imageRepositories",
        "gpuPools",
        "servers",
        "outputsVersion",
        "account",
        "modelBucketArn",
        "modelBucketKey",
        "s3Addresses",
    }


def test_registrations_have_begun_when_the_program_s_last_line_has_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """Else the SDK waits in a way that takes the square of what is open."""
    ends: list[Any] = []
    monkeypatch.setattr(pulumi, "run", ends.append)
    monkeypatch.setattr(pulumi, "export", lambda *_: None)
    outputs.export(dict.fromkeys(set(outputs.Platform.model_fields) - {"outputs_version"}))
    begun: list[str] = []

    async def registration() -> None:
        begun.append("registration")

    async def program() -> None:
        task = asyncio.ensure_future(registration())
        await ends[0]()
        assert begun == ["registration"]
        await task

    asyncio.run(program())
    assert len(ends) == 1
