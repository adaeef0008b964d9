"""The whole program, scanned: what no resource of any stack may hold (S), in update and in preview (P)."""

import json
import re
from collections.abc import Iterator
from typing import Any

import pulumi
import pytest

from tests.harness import STACKS, Recording, record_program, stack_file, stack_settings
from tests.recording import texts

TEXT_OF_AN_OUTPUT = re.compile(r"Output object at|Calling __str__ on an Output|<pulumi\.")
ABSENT_VALUE = re.compile(r"\b(None|null|undefined)\b")


@pytest.mark.parametrize("preview", [False, True], ids=["update", "preview"])
@pytest.mark.parametrize("name", STACKS)
def test_PUL_01_no_text_holds_an_output_instead_of_its_value(name: str, preview: bool) -> None:
    """An output in an f-string ends up in the deployed document as its repr (pulumi-docker#180)."""
    for registration, text in record_program(stack_settings(name), preview=preview).strings():
        assert not TEXT_OF_AN_OUTPUT.search(text), f"{registration.urn}: {text}"


def test_PUL_01_every_policy_is_json_and_holds_the_values_of_resources(recording: Recording) -> None:
    documents = [
        (r.name, r.inputs[key])
        for r in recording.registered
        for key in ("policy", "assumeRolePolicy")
        # a lifecycle policy is no IAM document
        if key in r.inputs and r.kind != "aws:ecr/lifecyclePolicy:LifecyclePolicy"
    ]
    assert len(documents) >= 6
    for name, text in documents:
        statements = json.loads(text)["Statement"]
        assert statements, name
        assert all(statement["Sid"] for statement in statements)


def test_PUL_01_values_of_resources_arrive_in_pods(recording: Recording) -> None:
    (deployment,) = recording.all("kubernetes:apps/v1:Deployment")
    spec = deployment.inputs["spec"]["template"]["spec"]
    assert spec["serviceAccountName"] == "gemma-server"
    (programs,) = [volume for volume in spec["volumes"] if volume["name"] == "programs"]
    assert programs["configMap"]["name"].startswith("engine-start-")


def test_PUL_06_every_resource_has_the_explicit_provider_of_its_kind(recording: Recording) -> None:
    seen = set()
    for registration in recording.registered:
        package = registration.kind.partition(":")[0]
        if name := {"aws": "aws", "eks": "aws", "kubernetes": "kubernetes"}.get(package):
            assert f"::pulumi:providers:{name}::{name}::" in registration.provider, registration.urn
            seen.add(package)
    assert seen == {"aws", "eks", "kubernetes"}


def test_PUL_06_a_forgotten_provider_fails_instead_of_taking_the_shells_account(stack: str) -> None:
    assert stack_file(stack)["pulumi:disable-default-providers"] == ["aws", "kubernetes"]


def test_PUL_06_the_aws_provider_refuses_other_accounts_and_tags_everything(recording: Recording, stack: str) -> None:
    inputs = recording.one("pulumi:providers:aws").inputs
    assert inputs["region"] == "us-west-2"
    assert json.loads(inputs["allowedAccountIds"]) == ["000000000000"]
    assert json.loads(inputs["defaultTags"]) == {"tags": stack_settings(stack)["tags"]}


def test_PUL_06_no_absent_value_is_part_of_a_name(recording: Recording) -> None:
    programs = {text for one in recording.all("kubernetes:core/v1:ConfigMap") for text in one.inputs["data"].values()}
    for registration, text in recording.strings():
        assert text in programs or not ABSENT_VALUE.search(text), f"{registration.urn}: {text}"
    assert [text for text in texts(recording.outputs) if ABSENT_VALUE.search(text)] == []


@pytest.mark.parametrize("region", ["eu-west-1", "us-gov-west-1", "cn-north-1"])
def test_PUL_06_every_regional_text_says_the_region_of_the_stack(region: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_REGION", "us-east-1")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    recorded = moved(region)
    assert recorded.one("pulumi:providers:aws").inputs["region"] == region
    said = [text for _, text in recorded.strings() if region in text]
    assert len(said) > 10
    every = [*(text for _, text in recorded.strings()), *texts(recorded.outputs)]
    assert [text for text in every if "us-east-1" in text or "us-west-2" in text] == []


PROVIDER = "pulumi:providers:kubernetes"


@pytest.mark.parametrize(
    "change",
    [
        {"tags": {"environment": "other"}},
        {"servers": {}},
        *(
            {"cluster": {**stack_settings("dev")["cluster"], **change}}
            for change in (
                {"logs": ["audit"]},
                {"deletionProtection": True},
                {"addons": dict.fromkeys(stack_settings("dev")["cluster"]["addons"], "v1.0.0-eksbuild.1")},
                {"access": {}},
                {"version": "1.35"},
            )
        ),
    ],
    ids=lambda change: next(iter(change)),
)
def test_PUL_07_no_change_of_the_cluster_touches_the_kubernetes_provider(
    dev: Recording, change: dict[str, Any]
) -> None:
    """Another kubeconfig or identity replaces the provider, and everything in the cluster with it (pulumi-eks#207)."""
    assert record_program(stack_settings("dev") | change).one(PROVIDER).inputs == dev.one(PROVIDER).inputs


def test_PUL_07_another_machine_renders_the_same_provider(dev: Recording, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AWS_PROFILE", "AWS_ROLE_ARN", "KUBECONFIG", "HOME", "USER"):
        monkeypatch.setenv(name, "/somebody/else")
    again = record_program(stack_settings("dev"))
    assert again.one(PROVIDER).inputs == dev.one(PROVIDER).inputs
    # these would write the caller's profile or role into the kubeconfig
    options = {"providerCredentialOpts", "creationRoleProvider", "proxy"}
    assert options & again.one("eks:index:Cluster").inputs.keys() == set()


def test_PUL_07_the_kubeconfig_is_the_clusters_own_text_byte_for_byte(dev: Recording) -> None:
    inputs = dev.one(PROVIDER).inputs
    assert inputs["kubeconfig"] == dev.outputs["kubeconfig"]
    assert inputs["kubeconfig"] == '{"clusters": [{"cluster": {"server": "https://inference-dev.eks.example"}}]}'


def test_PUL_07_the_providers_identity_is_the_clusters_endpoint(dev: Recording) -> None:
    """Not its name or ARN: a cluster that was made anew has both again, and none of the objects."""
    assert dev.one(PROVIDER).inputs["clusterIdentifier"] == "https://inference-dev.eks.example"


def moved(region: str) -> Recording:
    """The dev stack in another region and its partition, with every interface endpoint."""
    raw = stack_settings("dev")
    partition = {"cn": "aws-cn", "us-gov": "aws-us-gov"}.get(region.rpartition("-")[0].rpartition("-")[0], "aws")
    raw = json.loads(json.dumps(raw).replace("arn:aws:", f"arn:{partition}:").replace("us-west-2", region))
    raw["network"]["interfaceEndpoints"] = ["ecr.api", "sts"]
    if partition != "aws":
        raw["imageCache"]["upstreams"] = []  # ECR caches none there
    return record_program(raw, region=region)


@pytest.mark.parametrize(
    ("region", "partition", "ec2"),
    [
        ("eu-west-1", "aws", "ec2.amazonaws.com"),
        ("us-gov-west-1", "aws-us-gov", "ec2.amazonaws.com"),
        ("cn-north-1", "aws-cn", "ec2.amazonaws.com.cn"),
    ],
)
def test_IAM_05_every_arn_and_principal_follows_the_partition(region: str, partition: str, ec2: str) -> None:
    """`arn:aws:` in text makes policies malformed in China and GovCloud (terraform-aws-iam#224)."""
    recorded = moved(region)
    arns = {
        match
        for registration in recorded.registered
        for text in texts(registration.inputs)
        for match in re.findall(r"arn:([a-z-]+):(?:iam|s3|eks)", text)
    }
    assert arns == {partition}
    principals = {
        match
        for registration in recorded.registered
        for match in re.findall(r'"Service": "([^"]+)"', registration.inputs.get("assumeRolePolicy", ""))
    }
    assert principals == {ec2, "pods.eks.amazonaws.com"}


def test_IAM_05_an_arn_of_another_partition_is_refused() -> None:
    raw = stack_settings("dev")
    raw["network"]["zones"] = raw["cluster"]["zones"] = ["cn-north-1a", "cn-north-1b"]
    raw["imageCache"]["upstreams"] = []
    with pytest.raises(pulumi.RunError) as refused:
        record_program(raw, region="cn-north-1")
    assert str(refused.value).splitlines()[1:] == [
        '  account.deployer: "arn:aws:iam::000000000000:role/vllm-eks-deployer" is not in the partition of cn-north-1;'
        " expected arn:aws-cn:...",
        '  cluster.access.platform-team.principal: "arn:aws:iam::000000000000:role/platform-team" is not in the'
        " partition of cn-north-1; expected arn:aws-cn:...",
    ]


FREE_MAPS = ("annotations", "labels", "matchLabels", "nodeSelector", "selector", "tags", "requests", "limits")


def test_PUL_14_values_of_free_maps_and_variables_are_text(recording: Recording) -> None:
    """A Python True or an int in an annotation or label is rejected or dropped (quickstart-amazon-eks#304)."""

    def check(value: Any, path: str) -> None:
        if isinstance(value, dict):
            for key, item in value.items():
                if key in FREE_MAPS and isinstance(item, dict) and "matchLabels" not in item:
                    for name, text in item.items():
                        assert isinstance(text, str), f"{path}.{key}.{name} is {text!r}"
                        assert text not in ("True", "False")
                check(item, f"{path}.{key}")
        elif isinstance(value, list):
            for item in value:
                check(item, path)

    for registration in recording.registered:
        check(registration.inputs, registration.urn)
    values = [item["value"] for one in recording.registered for item in variables(one.inputs) if "value" in item]
    assert len(values) > 30
    assert {type(value) for value in values} == {str}
    assert {"True", "False"} & set(values) == set()


def variables(value: Any) -> Iterator[dict[str, Any]]:
    """Every environment variable of every container."""
    if isinstance(value, dict):
        for key, item in value.items():
            yield from item if key == "env" and isinstance(item, list) else variables(item)
    elif isinstance(value, list):
        for item in value:
            yield from variables(item)


def test_PUL_14_keys_of_free_maps_arrive_unchanged() -> None:
    raw = stack_settings("dev")
    raw["tags"] = {"cost_center": "ml"}
    recorded = record_program(raw)
    assert json.loads(recorded.one("pulumi:providers:aws").inputs["defaultTags"]) == {"tags": {"cost_center": "ml"}}
    for specification in recorded.one("aws:ec2/launchTemplate:LaunchTemplate").inputs["tagSpecifications"]:
        assert specification["tags"]["cost_center"] == "ml"


def test_PUL_04_two_servers_and_two_pools_of_one_product_live_in_one_stack() -> None:
    raw = stack_settings("dev")
    raw["gpuPools"]["second"] = raw["gpuPools"]["rtx-pro-6000"]
    raw["servers"]["qwen"] = {**raw["servers"]["gemma"], "pool": "second"}
    urns = [registration.urn for registration in record_program(raw).registered]
    assert len(urns) == len(set(urns))


def test_a_server_added_or_removed_renames_nothing() -> None:
    raw = stack_settings("dev")
    raw["gpuPools"]["rtx-pro-6000"]["maxGpus"] = 3
    raw["servers"] = {"alpha": raw["servers"]["gemma"], **raw["servers"]}
    with_it = {r.urn for r in record_program(raw).registered}
    del raw["servers"]["alpha"]
    assert {r.urn for r in record_program(raw).registered} <= with_it


def test_a_stack_without_servers_is_a_whole_platform() -> None:
    """Weights go into the bucket first, the server comes after."""
    raw = stack_settings("dev")
    raw["servers"] = {}
    recorded = record_program(raw)
    assert recorded.maybe("kubernetes:apps/v1:Deployment") == []
    assert len(recorded.all("aws:eks/nodeGroup:NodeGroup")) == 1
    assert recorded.outputs["servers"] == {}
