"""Every mistake in a stack file is one line: the YAML path, the value, what is allowed."""

import json
from pathlib import Path
from typing import Any

import pulumi
import pytest
import yaml

import settings
from tests.harness import REGION, STACKS, record_program, stack_settings
from tests.stack.toggles import change
from tests.stack.toggles.fields import keys


def refusal(raw: object, region: str = REGION) -> str:
    with pytest.raises(pulumi.RunError) as refused:
        settings.parse(raw, region)
    return str(refused.value)


def changed(path: str, value: Any, raw: dict[str, Any] | None = None) -> dict[str, Any]:
    """The dev stack's settings with the key at a dotted path set (or, with `...`, removed)."""
    raw = raw or stack_settings("dev")
    change(raw, path, value)
    return raw


BAD = yaml.safe_load(Path(__file__).with_name("bad_stack_files.yaml").read_text())


@pytest.mark.parametrize("row", BAD, ids=[f"{row['key']}={row.get('value')!r:.30}" for row in BAD])
def test_a_mistake_is_refused_with_its_path_value_and_what_is_allowed(row: dict[str, Any]) -> None:
    raw = changed(row["key"], ... if row.get("remove") else row["value"])
    for key, value in row.get("also", {}).items():
        raw = changed(key, value, raw)
    count = row["says"].count("\n") + 1
    assert refusal(raw) == f"the stack file has {count} mistake{'s' if count > 1 else ''}:\n  {row['says']}"


def test_there_are_at_least_thirty_bad_stack_files() -> None:
    assert len(BAD) >= 30


def test_all_mistakes_of_all_sections_are_reported_at_once() -> None:
    """A broken section, a broken pool and a broken server hide neither each other nor what spans the rest."""
    raw = stack_settings("dev")
    raw["network"]["cidr"] = "10.0.0.0/30"
    raw["gpuPools"]["l4"] = {**raw["gpuPools"]["rtx-pro-6000"], "product": "l4", "instanceTypes": ["g6.xlarge"]}
    raw["gpuPools"]["l4"]["maxGpus"] = 0
    raw["servers"]["qwen"] = {**raw["servers"]["gemma"], "pool": "l40s"}
    raw["servers"]["gemma"]["techniques"] = ["streaming-lodr"]
    raw["servers"]["llama"] = {**raw["servers"]["gemma"], "techniques": "streaming-loader"}
    assert refusal(raw) == "\n".join(
        [
            "the stack file has 5 mistakes:",
            '  network.cidr: "10.0.0.0/30"; /30 is too small; expected a prefix length of 16 to 20',
            "  gpuPools.l4.maxGpus: 0; expected a whole number of GPUs, 1 to 1000",
            '  servers.llama.techniques: "streaming-loader"; expected a list of cold-start techniques,'
            " beside those of the preset",
            '  servers.gemma.techniques: no technique "streaming-lodr"; did you mean streaming-loader?',
            '  servers.qwen.pool: "l40s"; did you mean l4?',
        ]
    )


def test_one_mistake_of_a_server_hides_no_other() -> None:
    raw = stack_settings("dev")
    raw["cluster"] |= {"version": "1.29", "serviceCidr": "10.64.0.0/16"}
    server = raw["servers"]["gemma"]
    server |= {"pool": "zzz", "techniques": ["node-cash"]}
    server["resources"]["cpu"] = 0
    server["engine"] |= {"maxNumSeqs": "many", "args": {"max-modl-len": 1}}
    server["model"]["uri"] = "s3://other-bucket/models/x/1"
    assert refusal(raw).splitlines() == [
        "the stack file has 8 mistakes:",
        '  cluster.version: "1.29"; expected a Kubernetes minor of 1.34 or later in quotes, for example "1.36"',
        '  servers.gemma.engine.maxNumSeqs: "many"; expected a whole number of requests, 1 to 8192',
        "  servers.gemma.resources.cpu: 0; expected a whole number of vCPUs, 1 to 192",
        '  cluster.serviceCidr: "10.64.0.0/16" overlaps with network.cidr 10.64.0.0/16',
        '  servers.gemma.model.uri: "other-bucket" is not modelBucket.name vllm-eks-dev-models-000000000000',
        '  servers.gemma.techniques: no technique "node-cash"; did you mean node-cache?',
        "  servers.gemma.engine.args.max-modl-len: 1; vLLM 0.33.0 has no such flag; max-model-len is set by the"
        " program; change engine.maxModelLen instead",
        '  servers.gemma.pool: "zzz"; allowed: rtx-pro-6000',
    ]


@pytest.mark.parametrize("key", ["foo\nbar", "\x1b[31m", "x" * 5000, "[key]", "\u2028"])
def test_a_strange_key_is_one_short_printable_line(key: str) -> None:
    raw = stack_settings("dev")
    raw[key] = 1
    lines = refusal(raw).splitlines()
    assert len(lines) == 2
    assert lines[1].isprintable()
    assert len(lines[1]) < 300
    assert "unknown key" in lines[1]


def test_a_misspelt_key_is_one_mistake() -> None:
    """Its right spelling is not reported as missing beside it."""
    raw = stack_settings("dev")
    raw["servers"]["gemma"]["engine"]["maxNumSeq"] = raw["servers"]["gemma"]["engine"].pop("maxNumSeqs")
    assert refusal(raw) == (
        "the stack file has 1 mistake:\n  servers.gemma.engine.maxNumSeq: unknown key; did you mean maxNumSeqs?"
    )


def test_a_pool_is_not_asked_for_more_gpus_than_it_may_have() -> None:
    raw = stack_settings("dev")
    raw["gpuPools"]["rtx-pro-6000"]["maxGpus"] = 1
    raw["servers"]["qwen"] = raw["servers"]["gemma"]
    assert refusal(raw) == (
        "the stack file has 1 mistake:\n  gpuPools.rtx-pro-6000.maxGpus: gemma 1 + qwen 1 = 2 GPUs > 1"
    )


@pytest.mark.parametrize("key", ["kubernetes.io/cluster/x", "aws:owner", "Name", "karpenter.sh/nodepool"])
def test_a_tag_that_a_controller_reads_is_refused(key: str) -> None:
    """As a default tag `kubernetes.io/cluster/<name>` would be on every security group (NET trap 30)."""
    raw = stack_settings("dev")
    raw["tags"] = {key: "x"}
    assert refusal(raw) == (
        f"the stack file has 1 mistake:\n  tags: {json.dumps(raw['tags'])}; {key} is reserved;"
        " expected keys of your own"
    )


@pytest.mark.parametrize("name", ["vllm", "vllm-chat"])
def test_VLM_01_a_server_is_not_named_like_a_service_that_kills_vllm(name: str) -> None:
    raw = stack_settings("dev")
    raw["servers"] = {name: raw["servers"]["gemma"]}
    assert refusal(raw) == (
        f"the stack file has 1 mistake:\n  servers.{name}: a Service called so sets VLLM_* variables in pods and kills"
        " vLLM there"
    )


@pytest.mark.parametrize("region", ["", "oregon", "us-west", "us-iso-east-1", "eusc-de-east-1"])
def test_PUL_06_a_stack_without_a_region_is_refused(region: str) -> None:
    raw = stack_settings("dev")
    raw["network"]["zones"] = ["us-west-2a", "us-west-2b"]
    line = f"aws:region: {json.dumps(region)}; expected a region, for example us-west-2"
    assert refusal(raw, region) == f"the stack file has 1 mistake:\n  {line}"


@pytest.mark.parametrize("region", ["us-east-1", None])
def test_PUL_06_a_region_of_the_shell_is_not_the_stacks(region: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same stack file would go elsewhere on another desk; and no region would become `None` in host names."""
    if region:
        monkeypatch.setenv("AWS_REGION", region)
    assert loaded({"vllm-eks:settings": json.dumps(stack_settings("dev"))}, []) == (
        'the stack file has 1 mistake:\n  aws:region: ""; expected a region, for example us-west-2'
    )


TWICE = {
    "network.zones": "us-west-2a",
    "network.interfaceEndpoints": "sts",
    "cluster.zones": "us-west-2a",
    "cluster.publicAccess": "203.0.113.0/24",
    "cluster.logs": "audit",
    "cluster.access.platform-team.namespaces": "chat",
    "cluster.systemNodes.instanceTypes": "m7i.large",
    "imageCache.upstreams": "quay",
    "modelBucket.readers": "arn:aws:iam::111122223333:root",
    "modelBucket.writers": "arn:aws:iam::000000000000:role/w",
    "gpuPools.rtx-pro-6000.instanceTypes": "g7e.2xlarge",
    "gpuPools.rtx-pro-6000.techniques": "parallel-pull",
    "gpuPools.rtx-pro-6000.capacity.reserved.ids": "cr-0123456789abcdef0",
    "servers.gemma.techniques": "streaming-loader",
}


@pytest.mark.parametrize("path", TWICE)
def test_PUL_04_a_value_that_stands_in_a_list_twice_is_refused_by_name(path: str) -> None:
    """Items become resources: the engine would answer with a bare duplicate URN, or a provider with a 409."""
    value = TWICE[path]
    raw = stack_settings("dev")
    if ".reserved." in path:
        raw["gpuPools"]["rtx-pro-6000"]["capacity"] = {"reserved": {}}
    assert refusal(changed(path, [value, value], raw)) == (
        f'the stack file has 1 mistake:\n  {path}: ["{value}", "{value}"]; {value} stands there twice'
    )


def test_PUL_04_every_list_of_the_stack_file_is_tried() -> None:
    lists = [key for key in keys() if "tuple[" in str(key.annotation)]
    assert len(lists) == len(TWICE)
    assert [key.pattern for key in lists if not any(key.covers(path) for path in TWICE)] == []


FLAG = "cluster.deletionProtection"
COUNT = "cluster.systemNodes.diskGib"


@pytest.mark.parametrize(("text", "value"), [("true", True), ("false", False), (True, True), (False, False)])
def test_PUL_09_a_boolean_is_the_same_as_text(text: object, value: bool) -> None:
    assert settings.parse(changed(FLAG, text), REGION).cluster.deletion_protection is value


@pytest.mark.parametrize("text", ["False", "no", "0", "", "yes", 0, 1, None])
def test_PUL_09_what_is_not_clearly_a_boolean_is_refused(text: object) -> None:
    assert refusal(changed(FLAG, text)) == (
        f"the stack file has 1 mistake:\n  {FLAG}: {json.dumps(text)}; expected true or false"
    )


@pytest.mark.parametrize("text", ["30", 30])
def test_PUL_09_a_whole_number_is_the_same_as_text(text: object) -> None:
    assert settings.parse(changed(COUNT, text), REGION).cluster.system_nodes.disk_gib == 30


@pytest.mark.parametrize("text", ["3.5", "-1", "1e3", 30.0, True, "", None, [30]])
def test_PUL_09_what_is_not_clearly_a_whole_number_is_refused(text: object) -> None:
    assert refusal(changed(COUNT, text)) == (
        f"the stack file has 1 mistake:\n  {COUNT}: {json.dumps(text)}; expected a whole number of GiB, 20 to 1000"
    )


@pytest.mark.parametrize("raw", [None, [], "text", 3])
def test_PUL_09_settings_that_are_no_mapping_are_refused(raw: object) -> None:
    assert refusal(raw) == (
        f"the stack file has 1 mistake:\n  vllm-eks:settings: {json.dumps(raw)} is not a mapping; expected the keys"
        " name, account, tags, network, cluster, imageCache, modelBucket, namespace, karpenter, gpuPools, servers"
    )


@pytest.mark.parametrize(("typo", "meant"), [("gpuPolls", "gpuPools"), ("nmae", "name")])
def test_PUL_09_a_misspelt_key_is_refused_and_gives_no_default(typo: str, meant: str) -> None:
    raw = stack_settings("dev")
    raw[typo] = raw.pop(meant)
    assert refusal(raw) == f"the stack file has 1 mistake:\n  {typo}: unknown key; did you mean {meant}?"


def loaded(config: dict[str, str], secrets: list[str]) -> str:
    pulumi.runtime.set_mocks(None, "vllm-eks", "test")
    pulumi.runtime.set_all_config(config, secrets)
    with pytest.raises(pulumi.RunError) as refused:
        settings.load()
    return str(refused.value)


def test_PUL_09_a_malformed_tree_names_the_key_and_the_place() -> None:
    assert loaded({"vllm-eks:settings": "{network: "}, []) == (
        "vllm-eks:settings: not a mapping: Expecting property name enclosed in double quotes: line 1 column 2 (char 1)"
    )


def test_PUL_09_a_word_instead_of_the_tree_is_refused_with_the_keys() -> None:
    assert (
        loaded({"vllm-eks:settings": "hello", "aws:region": REGION}, [])
        .splitlines()[1]
        .startswith('  vllm-eks:settings: "hello" is not a mapping; expected the keys name, account, ')
    )


def test_a_stack_without_settings_is_told_where_to_get_them() -> None:
    assert loaded({}, []) == "vllm-eks:settings: missing; copy it from Pulumi.dev.yaml into this stack's file"


def test_PUL_02_a_secret_inside_the_settings_is_refused() -> None:
    """The tree ends up in manifests and outputs; a secret in it would be plain text there (pulumi#18866)."""
    assert loaded({"vllm-eks:settings": "{}"}, ["vllm-eks:settings"]) == (
        "vllm-eks:settings: holds a secret; settings are written to plain outputs and manifests, so secrets have config"
        " keys of their own"
    )


@pytest.mark.parametrize("stack", STACKS)
def test_the_checked_in_stack_files_parse(stack: str) -> None:
    parsed = settings.parse(stack_settings(stack), REGION)
    assert parsed.name == f"inference-{stack}"


def test_a_refused_stack_registers_nothing() -> None:
    raw = stack_settings("dev")
    raw["network"]["nat"] = "none"
    recorded = None
    with pytest.raises(pulumi.RunError):
        recorded = record_program(raw)
    assert recorded is None


def test_a_server_is_not_called_as_the_pause_pods_of_a_pool() -> None:
    """Two Deployments of one name: the provider takes over the one that exists, without a word."""
    raw = stack_settings("dev")
    raw["servers"]["warm-rtx-pro-6000"] = raw["servers"]["gemma"]
    assert refusal(raw) == (
        "the stack file has 1 mistake:\n"
        "  servers.warm-rtx-pro-6000: is the name of the pause pods of gpuPools.rtx-pro-6000; expected another one"
    )
