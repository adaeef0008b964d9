"""What Karpenter is told of a pool."""

import json
from typing import Any

import pulumi
import pytest

from infra.gpu_pools import GPU_RESOURCE, LONGEST_GRACE, TAINT, GpuPool, labels, requirements
from infra.gpu_pools.gpu_pools import DELETE_LIMIT, GpuPools, GpuPoolsArgs
from infra.gpu_pools.manifests import (
    Surroundings,
    needs_static_capacity,
    node_class,
    node_pool,
    node_pool_name,
)
from infra.gpu_pools.updates import minutes
from infra.instances import ARCHITECTURES
from tests.harness import STACKS, record, stack_settings
from tests.infra.gpu_pools.pools import AMIS, CAPACITIES, MATRIX_PRODUCTS, SURROUNDINGS, pool
from tests.recording import Recording

NODE_POOL, NODE_CLASS = "kubernetes:karpenter.sh/v1:NodePool", "kubernetes:karpenter.k8s.aws/v1:EC2NodeClass"


class Earlier(pulumi.ComponentResource):
    """Stands for Karpenter."""

    def __init__(self) -> None:
        super().__init__("vllm-eks:infra:Earlier", "karpenter")
        pulumi.CustomResource("test:index:Controller", "controller", {}, pulumi.ResourceOptions(parent=self))


def recorded(
    pools: dict[str, GpuPool],
    *,
    preview: bool = False,
    surroundings: Surroundings | None = None,
    graces: dict[str, int] | None = None,
) -> Recording:
    def program() -> None:
        GpuPools(
            "pools",
            GpuPoolsArgs(
                pools=pools,
                surroundings=surroundings or SURROUNDINGS,
                images=dict.fromkeys(pools, ("nginx:1",)),
                graces=graces or {},
                after=[Earlier()],
            ),
        )

    return record(program, preview=preview)


STACK_POOLS = [
    pytest.param(name, GpuPool.model_validate(raw), id=f"{stack}-{name}")
    for stack in STACKS
    for name, raw in stack_settings(stack)["gpuPools"].items()
]
EVERY = [
    *STACK_POOLS,
    *(
        pytest.param(
            product, pool(product, capacity=CAPACITIES[capacity], ami=ami), id=f"{product}-{capacity}-{family}"
        )
        for product in MATRIX_PRODUCTS
        for capacity in CAPACITIES
        for family, ami in AMIS.items()
    ),
]


def test_there_is_one_product_of_each_architecture_in_the_matrix() -> None:
    assert {ARCHITECTURES[product] for product in MATRIX_PRODUCTS} == set(ARCHITECTURES.values())


@pytest.mark.parametrize(("name", "one"), EVERY)
def test_KRP_01_only_empty_nodes_go_and_never_at_once(name: str, one: GpuPool) -> None:
    """Nodes judged under-used were removed while a 10 GB image was still being pulled (KP#7414)."""
    disruption = node_pool(name, one, name, 80)["disruption"]
    assert disruption["consolidationPolicy"] == "WhenEmpty"
    assert disruption["consolidateAfter"] == "Never" or minutes(disruption["consolidateAfter"]) >= 5
    assert disruption["budgets"][0] == {"nodes": "1"}
    assert all(("schedule" in each) == ("duration" in each) for each in disruption["budgets"])


@pytest.mark.parametrize("stack", STACKS)
def test_KRP_03_the_image_of_a_stack_file_is_pinned_and_drift_is_bound_to_a_window(stack: str) -> None:
    for raw in stack_settings(stack)["gpuPools"].values():
        one = GpuPool.model_validate(raw)
        assert one.os_image.release is not None
        assert not one.update_window.always


@pytest.mark.parametrize(("name", "one"), EVERY)
def test_KRP_03_the_image_is_named_by_its_alias_alone(name: str, one: GpuPool) -> None:
    """Beside other terms, or with ids and names, Karpenter cannot tell a GPU image from another."""
    spec = node_class(name, one, SURROUNDINGS, "")
    assert spec["amiSelectorTerms"] == [{"alias": one.ami}]
    assert "amiFamily" not in spec


@pytest.mark.parametrize("gib", [30, 100, 200])
@pytest.mark.parametrize("family", AMIS)
def test_KRP_04_the_disk_that_was_asked_for_is_where_the_os_keeps_its_data(family: str, gib: int) -> None:
    """100 GB on Bottlerocket's OS volume leave images on a second one of 20 GB (bottlerocket#4663)."""
    volumes = node_class("p", pool(ami=AMIS[family], rootVolumeGib=gib), SURROUNDINGS, "")["blockDeviceMappings"]
    sizes = {each["deviceName"]: each["ebs"]["volumeSize"] for each in volumes}
    assert sizes == (
        {"/dev/xvda": "4Gi", "/dev/xvdb": f"{gib}Gi"} if family == "bottlerocket" else {"/dev/xvda": f"{gib}Gi"}
    )
    (root,) = [each["deviceName"] for each in volumes if each.get("rootVolume")]
    assert sizes[root] == f"{gib}Gi"
    for each in volumes:
        ebs = each["ebs"]
        assert (ebs["volumeType"], ebs["encrypted"], ebs["deleteOnTermination"]) == ("gp3", True, True)
        assert ebs["iops"] >= 3000
        assert ebs["throughput"] >= 125


@pytest.mark.parametrize(("name", "one"), EVERY)
def test_KRP_04_images_and_caches_lie_on_the_array(name: str, one: GpuPool) -> None:
    """A vLLM image of 10 GB fills the default root of 20 GiB (KP#3692); every type has NVMe, and that is required."""
    spec = node_class(name, one, SURROUNDINGS, "")
    assert spec["instanceStorePolicy"] == "RAID0"
    assert min(kind.local_nvme for kind in one.types) > 200
    gt = {"key": "karpenter.k8s.aws/instance-local-nvme", "operator": "Gt", "values": ["200"]}
    assert gt in node_pool(name, one, name, 80)["template"]["spec"]["requirements"]


def test_KRP_07_the_node_role_is_a_name_and_the_only_identity() -> None:
    spec = node_class("p", pool(), SURROUNDINGS, "")
    assert spec["role"] == "inference-karpenter-node"
    assert "instanceProfile" not in spec


@pytest.mark.parametrize(("name", "one"), EVERY)
def test_KRP_08_the_limit_counts_gpus_and_nothing_binds_before_it(name: str, one: GpuPool) -> None:
    """A CPU limit that binds first leaves pods pending for no reason that anyone sees (karpenter#8064)."""
    spec = node_pool(name, one, name, 80)
    if one.capacity.static:
        # the API server takes no other limit there
        assert spec["limits"] == {"nodes": str(one.max_gpus // one.types[0].gpus)}
        assert int(spec["limits"]["nodes"]) >= spec["replicas"]
    else:
        assert spec["limits"] == {GPU_RESOURCE: str(one.max_gpus)}
        assert "replicas" not in spec
    assert min(kind.gpus for kind in one.types) > 0


@pytest.mark.parametrize(("name", "one"), EVERY)
def test_KRP_10_the_taint_is_the_one_that_pods_and_agents_tolerate(name: str, one: GpuPool) -> None:
    template = node_pool(name, one, name, 80)["template"]
    assert template["spec"]["taints"] == [dict(TAINT)]
    assert "startupTaints" not in template["spec"]
    assert template["metadata"]["labels"] == labels(name, one)
    assert template["spec"]["requirements"] == requirements(one)


@pytest.mark.parametrize(("given", "grace"), [({"chat": 80}, "80s"), ({}, "100s")])
def test_a_node_waits_for_its_servers_end_and_no_longer(given: dict[str, int], grace: str) -> None:
    """Karpenter deletes a do-not-disrupt pod when this minus the pod's grace has passed (DeleteExpiringPods)."""
    spec = recorded({"chat": pool()}, graces=given).one(NODE_POOL).inputs["spec"]
    assert spec["template"]["spec"]["terminationGracePeriod"] == grace


def test_a_spot_notice_is_long_enough_for_the_longest_end() -> None:
    assert LONGEST_GRACE <= 120 - 20
    assert minutes(DELETE_LIMIT) * 60 > LONGEST_GRACE + 5 * 60


def test_who_chooses_a_node_os_that_never_booted_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[str] = []
    monkeypatch.setattr(pulumi.log, "warn", lambda text, *_: said.append(text))
    recorded({"chat": pool(ami=AMIS["bottlerocket"]), "proven": pool(ami=AMIS["al2023"])})
    assert said == [
        f"gpuPools.chat.ami {AMIS['bottlerocket']}: unproven: its settings are linted and admitted, and no node has"
        " booted with them (docs/proven.md)"
    ]


@pytest.mark.parametrize("product", MATRIX_PRODUCTS)
def test_reservations_are_chosen_by_id_and_nothing_else_is_bought(product: str) -> None:
    one = pool(product, capacity=CAPACITIES["reserved"])
    spec = node_class("p", one, SURROUNDINGS, "")
    assert spec["capacityReservationSelectorTerms"] == [{"id": "cr-0123456789abcdef0"}]
    assert one.capacity.markets == ("reserved",)


def test_only_a_static_pool_asks_for_the_feature_gate() -> None:
    assert needs_static_capacity([pool(), pool(capacity=CAPACITIES["static"])])
    assert not needs_static_capacity([pool(capacity=CAPACITIES[key]) for key in CAPACITIES if key != "static"])


def test_a_dynamic_pool_that_becomes_static_is_another_object() -> None:
    """The API server: Cannot transition NodePool between static and dynamic provisioning modes."""
    static = pool(capacity=CAPACITIES["static"])
    assert (node_pool_name("chat", pool()), node_pool_name("chat", static)) == ("chat", "chat.static")
    before, after = (recorded({"chat": one}) for one in (pool(), static))
    assert before.one(NODE_POOL).urn != after.one(NODE_POOL).urn
    assert before.one(NODE_CLASS).urn == after.one(NODE_CLASS).urn


def test_nodes_carry_the_stacks_tags_and_a_name() -> None:
    tags = node_class("chat", pool(), SURROUNDINGS, "")["tags"]
    assert tags == {"project": "vllm-eks", "cost_center": "42", "Name": "inference-chat"}


def test_pods_on_a_node_cannot_take_its_role() -> None:
    assert node_class("p", pool(), SURROUNDINGS, "")["metadataOptions"] == {
        "httpEndpoint": "enabled",
        "httpProtocolIPv6": "disabled",
        "httpPutResponseHopLimit": 1,
        "httpTokens": "required",
    }


def test_PUL_12_a_pool_comes_after_karpenter_and_its_class_and_goes_before_them() -> None:
    """Sent before its definition exists, a NodePool is refused (pulumi-kubernetes#3188)."""
    seen = recorded({"a": pool(), "b": pool(capacity=CAPACITIES["static"])})
    (karpenter,) = [r.urn for r in seen.registered if r.name == "controller"]
    classes = {r.inputs["metadata"]["name"]: r for r in seen.all(NODE_CLASS)}
    for one in seen.all(NODE_POOL):
        reference = one.inputs["spec"]["template"]["spec"]["nodeClassRef"]
        assert reference == {"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": reference["name"]}
        assert {karpenter, classes[reference["name"]].urn} <= seen.needs(one.urn)
    assert all(karpenter in seen.needs(each.urn) for each in classes.values())


def _scalars(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return [each for item in value.values() for each in _scalars(item)]
    return [each for item in value for each in _scalars(item)] if isinstance(value, list) else [value]


@pytest.mark.parametrize("preview", [False, True])
def test_PUL_14_free_keys_arrive_unchanged_and_texts_are_texts(preview: bool) -> None:
    """A key with an underscore became camelCase (pulumi-kubernetes#1740); a limit as a number is refused."""
    seen = recorded({"a": pool(), "b": pool(capacity=CAPACITIES["static"])}, preview=preview)
    for each in seen.all(NODE_CLASS):
        assert each.inputs["spec"]["tags"]["cost_center"] == "42"
        assert each.inputs["metadata"]["annotations"] == {"pulumi.com/waitFor": "condition=Ready"}
    for each in seen.all(NODE_POOL):
        template = each.inputs["spec"]["template"]
        assert "vllm-eks/gpu-architecture" in template["metadata"]["labels"]
        texts = [each.inputs["spec"]["limits"], template["metadata"]["labels"], template["spec"]["requirements"]]
        assert {type(scalar) for scalar in _scalars(texts)} == {str}
        assert "_" not in json.dumps(template)


def test_deleting_waits_longer_than_a_node_may_take() -> None:
    """Pulumi's own 10 minutes can be shorter than the drain, and leave instances behind (aws.md 0.28)."""
    seen = recorded({"a": pool()})
    assert {each.options["delete"] for each in (seen.one(NODE_POOL), seen.one(NODE_CLASS))} == {DELETE_LIMIT}


def test_latest_is_said_out_loud() -> None:
    said: list[str] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pulumi.log, "warn", lambda message, *_: said.append(message))
        recorded({"a": pool(), "b": pool(ami="al2023@latest", allowLatestAmi=True)})
    assert said == ["gpuPools.b.ami al2023@latest: each release of the image replaces every node"]
