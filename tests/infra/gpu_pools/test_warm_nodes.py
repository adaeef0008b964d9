"""Pause pods keep nodes ready, give way to servers at once, and cost what is said."""

from typing import Any

import pytest

from infra.gpu_pools import GPU_RESOURCE, node_selector, toleration
from infra.gpu_pools.pool import GpuPool
from infra.gpu_pools.warm_nodes import PodSize, WarmNodes, WarmNodesArgs
from infra.image_cache.rewrite import ImageCacheFacts
from infra.priorities import PRIORITIES, SERVERS, WARM_NODES, Priorities, PrioritiesArgs
from tests.harness import record
from tests.infra.gpu_pools.pools import CAPACITIES, pool
from tests.recording import Recording

SIZE = PodSize(cpu=6000, memory=48 * 1024, gpus=1)
CACHED = ImageCacheFacts(registry="cache.example", prefix="a-stack", upstreams=("k8s",), repositories=())
DEPLOYMENT = "kubernetes:apps/v1:Deployment"


def recorded(**pools: GpuPool) -> Recording:
    def program() -> None:
        priorities = Priorities("priorities", PrioritiesArgs(cluster_name="c"))
        WarmNodes(
            "warm",
            WarmNodesArgs(
                pools=pools,
                sizes=dict.fromkeys(pools, SIZE),
                namespace="inference",
                priority=priorities.warm_nodes,
                images=CACHED,
                after=[],
            ),
        )

    return record(program)


def pod(**pools: GpuPool) -> dict[str, Any]:
    return recorded(**pools).one(DEPLOYMENT).inputs["spec"]["template"]["spec"]


def test_there_are_none_where_none_are_asked_for() -> None:
    seen = recorded(a=pool(), b=pool(capacity=CAPACITIES["static"]))
    assert seen.maybe(DEPLOYMENT) == []


def test_every_server_goes_before_every_pause_pod() -> None:
    classes = recorded(a=pool()).all("kubernetes:scheduling.k8s.io/v1:PriorityClass")
    values = {each.inputs["metadata"]["name"]: each.inputs["value"] for each in classes}
    assert values == PRIORITIES
    assert values[WARM_NODES] < 0 < values[SERVERS]
    assert not any(each.inputs["globalDefault"] for each in classes)


def test_a_node_with_a_pause_pod_alone_is_not_empty_for_karpenter() -> None:
    """EvictionCost is 1 + priority / 2^25, and a node whose pods cost nothing is empty (karpenter v1.14.1)."""
    assert 1 + PRIORITIES[WARM_NODES] / 2**25 > 0


def test_a_pause_pod_is_as_large_as_the_server_and_gone_at_once() -> None:
    one = pod(a=pool(warmNodes=2))
    (container,) = one["containers"]
    assert container["resources"]["requests"] == {"cpu": "6000m", "memory": "49152Mi", GPU_RESOURCE: "1"}
    assert container["resources"]["limits"] == {GPU_RESOURCE: "1"}
    assert one["terminationGracePeriodSeconds"] == 0
    assert one["priorityClassName"] == WARM_NODES


def test_a_pause_pod_stands_where_the_servers_of_its_pool_do() -> None:
    one = pool(warmNodes=1)
    spec = pod(a=one)
    assert spec["nodeSelector"] == node_selector("a", one)
    assert spec["tolerations"] == [toleration()]


def test_each_pause_pod_keeps_a_node_of_its_own() -> None:
    """On a type with eight GPUs two of them would share one, and the second node would be paid in words only."""
    deployment = recorded(a=pool(warmNodes=2)).one(DEPLOYMENT).inputs
    (rule,) = pod(a=pool(warmNodes=2))["affinity"]["podAntiAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
    assert rule["topologyKey"] == "kubernetes.io/hostname"
    assert rule["labelSelector"]["matchLabels"] == deployment["spec"]["template"]["metadata"]["labels"]


def test_its_image_passes_through_the_cache() -> None:
    (container,) = pod(a=pool(warmNodes=1))["containers"]
    assert container["image"] == "cache.example/a-stack/k8s/pause:3.10"
    assert container["imagePullPolicy"] == "IfNotPresent"


def test_nobody_waits_for_a_pause_pod_and_a_change_makes_no_second_node() -> None:
    deployment = recorded(a=pool(warmNodes=3)).one(DEPLOYMENT).inputs
    assert deployment["spec"]["replicas"] == 3
    assert deployment["spec"]["strategy"] == {"type": "Recreate"}
    assert deployment["metadata"]["annotations"] == {"pulumi.com/skipAwait": "true"}
    assert "karpenter.sh/do-not-disrupt" not in str(deployment)


PRICES = [
    (pool("rtx-pro-server-6000"), "us-east-1", "0"),
    (pool("rtx-pro-server-6000", warmNodes=1, instanceTypes=["g7e.2xlarge"]), "us-east-1", "3.36"),
    (pool("rtx-pro-server-6000", warmNodes=2, instanceTypes=["g7e.2xlarge", "g7e.4xlarge"]), "us-east-1", "6.73-8"),
    (pool("rtx-pro-server-6000", warmNodes=1), "us-west-2", "unknown"),
    (
        pool("rtx-pro-server-6000", warmNodes=1, instanceTypes=["g7e.2xlarge"], prices={"g7e.2xlarge": 4}),
        "us-west-2",
        "4",
    ),
    (
        pool(
            "rtx-pro-server-6000", warmNodes=1, instanceTypes=["g7e.2xlarge", "g7e.4xlarge"], prices={"g7e.2xlarge": 4}
        ),
        "us-west-2",
        "unknown",
    ),
    (pool("h200", warmNodes=1, instanceTypes=["p5e.48xlarge"]), "us-east-1", "unknown"),
    (pool("l4", capacity=CAPACITIES["static"]), "us-east-1", "4.6"),
    (pool("h100", capacity=CAPACITIES["reserved"]), "us-east-1", "unknown"),
]


@pytest.mark.parametrize(("one", "region", "usd"), PRICES, ids=[row[2] for row in PRICES])
def test_what_stands_without_work_has_a_price_or_is_unknown(one: GpuPool, region: str, usd: str) -> None:
    """A price of another region is never taken for this one's."""
    assert one.standing_usd(region) == usd
