"""userData: parsed again as cloud-init, Karpenter, nodeadm and Bottlerocket would, and what is refused."""

import email
import email.policy
import json
import subprocess
import tomllib
from itertools import product
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from infra.node_boot import NodeBoot, user_data
from infra.node_boot.ami import Family
from tests.infra.image_cache.test_reference import references

ENGINE = "000000000000.dkr.ecr.us-west-2.amazonaws.com/inference-prod/docker-hub/vllm/vllm-openai:v0.26.0"
PROXY = "public.ecr.aws/nginx/nginx-unprivileged:1.29"
DIGEST = f"public.ecr.aws/a/b:1@sha256:{'0a' * 32}"


def boot(os: Family = "al2023", *, parallel_pull: bool = False, prepull: tuple[str, ...] = ()) -> NodeBoot:
    return NodeBoot(os=os, parallel_pull=parallel_pull, prepull=prepull)


def parts(text: str) -> list[email.message.EmailMessage]:
    whole = email.message_from_string(text, policy=email.policy.strict)
    assert whole.get_content_type() == "multipart/mixed"
    assert whole["MIME-Version"] == "1.0"
    return list(whole.iter_parts())


BOOTS = [
    boot(parallel_pull=pull, prepull=images)
    for pull, images in product((False, True), ((), (ENGINE,), (ENGINE, PROXY, DIGEST)))
    if not (pull and images)
]


@pytest.mark.parametrize("one", BOOTS, ids=str)
def test_KRP_05_it_is_one_well_formed_multipart_of_known_parts(one: NodeBoot) -> None:
    """A missing blank line before a body, or a leading space, and the node does not join (amazon-eks-ami#2318)."""
    text = user_data(one)
    assert "\r" not in text
    lines = text.split("\n")
    assert lines[:3] == ["MIME-Version: 1.0", 'Content-Type: multipart/mixed; boundary="//"', ""]
    assert lines[-2:] == ["--//--", ""]
    starts = [number for number, line in enumerate(lines) if line == "--//"]
    for start in starts:
        assert lines[start + 1].startswith("Content-Type: ")
        assert lines[start + 2] == ""
        assert lines[start + 3] != ""
    found = parts(text)
    kinds = [part.get_content_type() for part in found]
    assert kinds == ["application/node.eks.aws", *(["text/x-shellscript"] if one.prepull else [])]
    for part in found:
        assert part.defects == []
        assert not part.is_multipart()
        assert str(part.get_payload()).endswith("\n")
    if one.prepull:
        assert str(found[1].get_payload()).startswith("#!/bin/bash\n")


def test_KRP_05_an_empty_list_of_images_gives_no_script() -> None:
    assert "shellscript" not in user_data(boot())


def node_config(one: NodeBoot) -> dict[str, Any]:
    (config,) = [p for p in parts(user_data(one)) if p.get_content_type() == "application/node.eks.aws"]
    parsed: dict[str, Any] = yaml.safe_load(str(config.get_payload()))
    assert parsed == json.loads(str(config.get_payload()))
    return parsed


def strict(schema: Any) -> Any:
    """The schema with unknown fields refused: nodeadm ignores them. A Go RawExtension is any JSON."""
    if isinstance(schema, dict):
        if "x-kubernetes-preserve-unknown-fields" in schema:
            return {}
        closed = {key: strict(value) for key, value in schema.items()}
        if "properties" in schema and "additionalProperties" not in schema:
            closed["additionalProperties"] = False
        return closed
    return [strict(item) for item in schema] if isinstance(schema, list) else schema


CRD = yaml.safe_load(Path(__file__).with_name("nodeconfigs.yaml").read_text())
(VERSION,) = CRD["spec"]["versions"]
SCHEMA = strict(VERSION["schema"]["openAPIV3Schema"])
GATES = {"FastImagePull"}
"""Any name fits the schema: these are nodeadm's (internal/kubelet and doc/api of the release)."""
KUBELET = {"serializeImagePulls": bool}
"""Any key fits the schema: these are KubeletConfiguration's (kubelet.config.k8s.io/v1beta1)."""


def mistakes(config: dict[str, Any]) -> list[str]:
    found = [error.message for error in Draft202012Validator(SCHEMA).iter_errors(config)]
    spec = config["spec"]
    found += [f"no gate {gate}" for gate in spec.get("featureGates", {}) if gate not in GATES]
    for key, value in spec.get("kubelet", {}).get("config", {}).items():
        if not isinstance(value, KUBELET.get(key, ())):
            found.append(f"kubelet {key}")
    return found


@pytest.mark.parametrize("one", BOOTS, ids=str)
def test_a_node_config_has_no_field_that_nodeadm_would_ignore(one: NodeBoot) -> None:
    config = node_config(one)
    assert mistakes(config) == []
    assert (config["apiVersion"], config["kind"]) == (f"{CRD['spec']['group']}/{VERSION['name']}", "NodeConfig")
    assert config["spec"]["kubelet"] == {"config": {"serializeImagePulls": False}}
    assert config["spec"].get("featureGates") == ({"FastImagePull": True} if one.parallel_pull else None)


@pytest.mark.parametrize(
    ("place", "key"),
    [
        ((), "speck"),
        (("spec",), "featureGate"),
        (("spec", "kubelet"), "configs"),
        (("spec", "kubelet", "config"), "serializeImagePull"),
        (("spec", "featureGates"), "FastPull"),
    ],
)
def test_the_lint_sees_a_typo(place: tuple[str, ...], key: str) -> None:
    config = node_config(boot(parallel_pull=True))
    node = config
    for step in place:
        node = node[step]
    node[key] = {}
    assert mistakes(config) != []


def test_ECR_04_the_script_names_the_pods_own_references_and_never_blocks(tmp_path: Path) -> None:
    """Another spelling is another image to kubelet (amazon-eks-ami#1894)."""
    images = (ENGINE, PROXY, DIGEST)
    (_, shell) = parts(user_data(boot(prepull=images)))
    script = str(shell.get_payload())
    assert [line.strip(" \\").removesuffix(" || true") for line in script.splitlines()[-4:-1]] == list(images)
    (call,) = [line for line in script.splitlines() if line.startswith("systemd-run")]
    assert call.startswith("systemd-run --no-block ")
    assert "--property=After=nodeadm-run.service" in call
    assert "nerdctl --namespace k8s.io pull" in script


SETTINGS = {
    "settings.container-runtime.snapshotter": str,
    "settings.container-runtime-plugins.soci-snapshotter.pull-mode": str,
    **{
        f"settings.container-runtime-plugins.soci-snapshotter.parallel-pull-unpack.{key}": kind
        for key, kind in {
            "max-concurrent-downloads": int,
            "max-concurrent-downloads-per-image": int,
            "concurrent-download-chunk-size": str,
            "max-concurrent-unpacks": int,
            "max-concurrent-unpacks-per-image": int,
            "discard-unpacked-layers": bool,
        }.items()
    },
}
"""Keys that the settings API takes: bottlerocket-settings-sdk, ContainerRuntimePluginsSettingsV1 and
ContainerRuntimeSettingsV1."""


def leaves(node: dict[str, Any], above: str = "") -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in node.items():
        path = f"{above}.{key}".lstrip(".")
        found |= leaves(value, path) if isinstance(value, dict) else {path: value}
    return found


def test_KRP_05_bottlerocket_gets_settings_that_its_api_knows_and_no_shell() -> None:
    text = user_data(boot("bottlerocket", parallel_pull=True))
    assert "#!" not in text
    found = leaves(tomllib.loads(text))
    assert {key: type(value) for key, value in found.items()}.items() <= SETTINGS.items()
    assert found["settings.container-runtime.snapshotter"] == "soci"
    assert found["settings.container-runtime-plugins.soci-snapshotter.pull-mode"] == "parallel-pull-unpack"


def test_a_bottlerocket_that_is_asked_for_nothing_gets_nothing() -> None:
    assert user_data(boot("bottlerocket")) == ""


@given(st.lists(references, min_size=1, max_size=5).map(tuple))
def test_no_reference_gets_out_of_its_place(images: tuple[str, ...]) -> None:
    """What the grammar lets through, the shell takes as one word."""
    (_, shell) = parts(user_data(boot(prepull=images)))
    tail = str(shell.get_payload()).rpartition("/usr/local/bin/vllm-eks-prepull")[2]
    words = subprocess.run(
        ["bash", "-c", f"set -f; printf '%s\\n' {tail.rpartition(' || true')[0]}"], capture_output=True, check=True
    ).stdout.decode()
    assert words.splitlines() == list(images)
