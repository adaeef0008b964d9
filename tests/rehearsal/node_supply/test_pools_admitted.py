"""Every object of a pool before a real API server, with the definitions of both Karpenter versions."""

import copy
from collections.abc import Callable
from typing import Any

import pulumi
import pytest

import settings
from infra.gpu_pools.gpu_pools import GpuPools, GpuPoolsArgs
from infra.gpu_pools.manifests import NODE_CLASS, NODE_POOL, node_class, node_pool
from infra.gpu_pools.pool import GpuPool
from infra.gpu_pools.warm_nodes import PodSize, WarmNodes, WarmNodesArgs
from infra.priorities import Priorities, PrioritiesArgs
from rehearsal.control_plane.objects.manifest import Report
from tests.harness import REGION, STACKS, record, stack_settings
from tests.images import NO_CACHE
from tests.infra.gpu_pools.pools import AMIS, CAPACITIES, MATRIX_PRODUCTS, SURROUNDINGS, pool, refusals
from tests.rehearsal.control_plane.objects import namespace

SPACE = namespace("warm", **{"pod-security.kubernetes.io/enforce": "restricted"})


def whole(value: Any) -> Any:
    """With whole numbers again: on the way to the mocks, as to every provider, all numbers are doubles."""
    if isinstance(value, dict):
        return {key: whole(item) for key, item in value.items()}
    if isinstance(value, list):
        return [whole(item) for item in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


def objects(pools: dict[str, GpuPool]) -> list[dict[str, Any]]:
    """What the components register for these pools, as the Kubernetes provider is given it."""

    def program() -> None:
        made = GpuPools(
            "pools",
            GpuPoolsArgs(
                pools=pools,
                surroundings=SURROUNDINGS,
                images=dict.fromkeys(pools, ("nginx:1",)),
                graces={},
                after=[],
            ),
        )
        priorities = Priorities("priorities", PrioritiesArgs(cluster_name="c"))
        WarmNodes(
            "warm",
            WarmNodesArgs(
                pools=pools,
                sizes=dict.fromkeys(pools, PodSize(cpu=6000, memory=48 * 1024, gpus=1)),
                namespace="warm",
                priority=priorities.warm_nodes,
                images=NO_CACHE,
                after=[made],
            ),
            pulumi.ResourceOptions(),
        )

    return [whole(each.inputs) for each in record(program).registered if each.kind.startswith("kubernetes:")]


def matrix() -> dict[str, GpuPool]:
    return {
        f"{product}-{capacity}-{family}"[:40]: pool(
            product,
            capacity=CAPACITIES[capacity],
            ami=ami,
            maxGpus=16,
            warmNodes=0 if capacity == "static" else 1,
            updateWindow={"schedule": "30 2 * * mon-fri", "duration": "90m"},
        )
        for product in MATRIX_PRODUCTS
        for capacity in CAPACITIES
        for family, ami in AMIS.items()
    }


def kinds(report: Report) -> dict[str, int]:
    found: dict[str, int] = {}
    for each in report.admitted:
        found[each.kind] = found.get(each.kind, 0) + 1
    return found


@pytest.mark.parametrize("stack", STACKS)
def test_the_pools_of_a_stack_file_are_admitted(ask: Callable[..., Report], stack: str) -> None:
    pools = {
        key: GpuPool.model_validate({**raw, "warmNodes": 1}) for key, raw in stack_settings(stack)["gpuPools"].items()
    }
    report = ask(SPACE, *objects(pools))
    assert report.refusals == ()
    assert [warning for each in report.admitted for warning in each.warnings] == []
    count = len(pools)
    assert kinds(report) == {
        "Namespace": 1,
        "NodePool": count,
        "EC2NodeClass": count,
        "PriorityClass": 3,
        "Deployment": count,
        "Pod of Deployment": count,
    }


def test_four_products_in_four_shapes_on_two_systems_are_admitted(ask: Callable[..., Report]) -> None:
    """Pause pods too, in a namespace that holds pods to the restricted standard."""
    pools = matrix()
    report = ask(SPACE, *objects(pools))
    assert report.refusals == ()
    assert [warning for each in report.admitted for warning in each.warnings] == []
    warm = sum(1 for one in pools.values() if one.warm_nodes)
    assert len(pools) == 32
    assert kinds(report) == {
        "Namespace": 1,
        "NodePool": 32,
        "EC2NodeClass": 32,
        "PriorityClass": 3,
        "Deployment": warm,
        "Pod of Deployment": warm,
    }


# What a user can get wrong: the change of the pool; and what Karpenter would be told if nobody looked: the path inside
# the NodePool or the EC2NodeClass, the value, and what the API server then says (None: it takes it in silence).
REFUSED: list[tuple[str, Any, str, str, Any, str | None]] = [
    (
        "updateWindow",
        {"schedule": "0 9 * * sat"},
        "NodePool",
        "disruption.budgets",
        [{"nodes": "0", "schedule": "0 9 * * sat"}],
        "'schedule' must be set with 'duration'",
    ),
    ("consolidateAfter", "soon", "NodePool", "disruption.consolidateAfter", "soon", "should match"),
    ("expireAfter", "30d", "NodePool", "template.spec.expireAfter", "30d", "should match"),
    (
        "instanceTypes",
        [],
        "NodePool",
        "template.spec.requirements",
        [{"key": "node.kubernetes.io/instance-type", "operator": "In", "values": []}],
        "requirements with operator 'In' must have a value defined",
    ),
    (
        "ami",
        "ubuntu@v20260724",
        "EC2NodeClass",
        "amiSelectorTerms",
        [{"alias": "ubuntu@v20260724"}],
        "family is not supported",
    ),
    ("ami", "al2023", "EC2NodeClass", "amiSelectorTerms", [{"alias": "al2023"}], "improperly formatted"),
    (
        "capacity",
        {"reserved": {"ids": ["ocr-1"]}},
        "EC2NodeClass",
        "capacityReservationSelectorTerms",
        [{"id": "ocr-1"}],
        "should match",
    ),
    (
        "capacity",
        {"reserved": {"ids": [f"cr-{number:017x}" for number in range(31)]}},
        "EC2NodeClass",
        "capacityReservationSelectorTerms",
        [{"id": f"cr-{number:017x}"} for number in range(31)],
        "must have at most 30 items",
    ),
    (
        "rootVolumeGib",
        "fifty",
        "EC2NodeClass",
        "blockDeviceMappings",
        [{"deviceName": "/dev/xvda", "ebs": {"volumeSize": "fiftyGi"}}],
        "should match",
    ),
    # from here on the API server would say nothing, and no node would ever come
    (
        "product",
        "rtx-pro-6000",
        "NodePool",
        "template.spec.requirements",
        [{"key": "karpenter.k8s.aws/instance-gpu-name", "operator": "In", "values": ["rtx-pro-6000"]}],
        None,
    ),
    (
        "instanceTypes",
        ["g7e.3xlarge"],
        "NodePool",
        "template.spec.requirements",
        [{"key": "node.kubernetes.io/instance-type", "operator": "In", "values": ["g7e.3xlarge"]}],
        None,
    ),
    ("ami", "al2023@v20261332", "EC2NodeClass", "amiSelectorTerms", [{"alias": "al2023@v20261332"}], None),
    ("ami", "bottlerocket@v20260724", "EC2NodeClass", "amiSelectorTerms", [{"alias": "bottlerocket@v20260724"}], None),
    (
        "updateWindow",
        {"schedule": "0 9 * * 7", "duration": "4h"},
        "NodePool",
        "disruption.budgets",
        [{"nodes": "0", "schedule": "0 9 * * 7", "duration": "4h"}],
        None,
    ),
]


def told(kind: str, path: str, value: Any) -> dict[str, Any]:
    """A pool's object with one value of its spec changed."""
    one = pool()
    spec = copy.deepcopy(
        node_pool("p", one, "p", 80) if kind == "NodePool" else node_class("p", one, SURROUNDINGS, "x")
    )
    *above, last = path.split(".")
    node = spec
    for step in above:
        node = node[step]
    node[last] = value
    version = NODE_POOL if kind == "NodePool" else NODE_CLASS
    return {"apiVersion": version, "kind": kind, "metadata": {"name": "p"}, "spec": spec}


@pytest.mark.parametrize(
    ("key", "value", "kind", "path", "there", "says"), REFUSED, ids=[f"{row[0]}={str(row[1])[:30]}" for row in REFUSED]
)
def test_our_message_comes_before_the_api_servers(
    ask: Callable[..., Report], key: str, value: Any, kind: str, path: str, there: Any, says: str | None
) -> None:
    changes = {"instanceTypes": ["g6.xlarge"], key: value} if key == "product" else {key: value}
    (line,) = refusals(**changes)
    assert line.startswith(key)
    raw = stack_settings("dev")
    raw["gpuPools"]["rtx-pro-6000"][key] = value
    with pytest.raises(pulumi.RunError, match=f"gpuPools.rtx-pro-6000.{key}"):
        settings.parse(raw, REGION)
    report = ask(told(kind, path, there))
    if says is None:
        assert report.refusals == ()
    else:
        (refusal,) = report.refusals
        assert says in refusal.message


@pytest.mark.parametrize("tag", ["karpenter.sh/nodepool", "kubernetes.io/cluster/x", "eks:eks-cluster-name"])
def test_a_tag_that_karpenter_owns_is_refused_before_the_api_server_sees_it(
    ask: Callable[..., Report], tag: str
) -> None:
    raw = stack_settings("dev")
    raw["tags"][tag] = "x"
    with pytest.raises(pulumi.RunError, match="is reserved"):
        settings.parse(raw, REGION)
    (refusal,) = ask(told("EC2NodeClass", "tags", {tag: "x"})).refusals
    assert "restricted tag" in refusal.message


def test_a_pool_is_never_turned_from_dynamic_to_static_in_place(ask: Callable[..., Report]) -> None:
    """Nor has a static one other limits than nodes: what `node_pool` writes for it is the only form there is."""
    (refusal,) = ask(told("NodePool", "replicas", 1)).refusals
    assert "only 'limits.nodes' is supported on static NodePools" in refusal.message
