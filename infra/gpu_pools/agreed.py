"""What the nodes of a pool and the pods on them must agree on, made from the pool once."""

from collections.abc import Iterable, Mapping
from typing import Any

from infra.gpu_pools.pool import GpuPool
from infra.instances import ARCHITECTURES, LEAST_NVME

POOL_LABEL = "vllm-eks/pool"
ARCHITECTURE_LABEL = "vllm-eks/gpu-architecture"
OS_LABEL = "vllm-eks/node-os"
"""al2023 or bottlerocket: what one of them has built in must not be installed on it again."""

PRODUCT_LABEL = "karpenter.k8s.aws/instance-gpu-name"
"""Karpenter puts it on every GPU node; a pool's requirements pin its value."""

TYPE_LABEL = "node.kubernetes.io/instance-type"
CAPACITY_LABEL = "karpenter.sh/capacity-type"
"""spot, on-demand or reserved: what a node was bought as."""

NODE_POOL_LABEL = "karpenter.sh/nodepool"
"""Karpenter's three, on its nodes and NodeClaims."""

PRESENT_LABEL = "nvidia.com/gpu.present"

GPU_RESOURCE = "nvidia.com/gpu"

TAINT: Mapping[str, str] = {"key": GPU_RESOURCE, "value": "true", "effect": "NoSchedule"}
"""On every node of every GPU pool: only pods that ask for a GPU, and the DaemonSets that they need, run there."""

AGENTS_CPU = 500
AGENTS_MEMORY = 2048
"""Millicores and MiB that node agents take from what is allocatable: CNI, proxy, Pod Identity, Mountpoint and its pods.
Estimated; a pod that asks for the rest stays pending (karpenter#8064)."""

LONGEST_GRACE = 100
"""Seconds that a pod has to end at most: a Spot notice is 120 s, 20 s of them for its way through EventBridge."""


def labels(name: str, pool: GpuPool) -> dict[str, str]:
    """Return the labels that the pool puts on its nodes.

    `nvidia.com/gpu.present` is what GPU agents' charts select on (KP#2833).
    """
    return {
        POOL_LABEL: name,
        ARCHITECTURE_LABEL: ARCHITECTURES[pool.product],
        OS_LABEL: pool.os_image.family,
        PRESENT_LABEL: "true",
    }


def node_selector(name: str, pool: GpuPool) -> dict[str, str]:
    """Return the selector of pods that belong on the pool: its own label and the exact product."""
    return {POOL_LABEL: name, PRODUCT_LABEL: pool.product}


def toleration() -> dict[str, str]:
    """Return the toleration made from the taint. `Exists`: a value can never disagree."""
    return {"key": TAINT["key"], "operator": "Exists", "effect": TAINT["effect"]}


def requirements(pool: GpuPool) -> list[dict[str, Any]]:
    """Return the NodePool requirements that admit the pool's instance types and no other.

    No `minValues`: it turns off the filter that drops Spot dearer than on-demand (pkg/providers/instance, v1.14.1).
    """
    return [
        _in("kubernetes.io/arch", {kind.architecture for kind in pool.types}),
        _in("kubernetes.io/os", {"linux"}),
        _in(CAPACITY_LABEL, pool.capacity.markets),
        _in(PRODUCT_LABEL, {pool.product}),
        _in("karpenter.k8s.aws/instance-gpu-count", {str(kind.gpus) for kind in pool.types}),
        # the instance store policy relies on it
        {"key": "karpenter.k8s.aws/instance-local-nvme", "operator": "Gt", "values": [str(LEAST_NVME)]},
        _in(TYPE_LABEL, {kind.name for kind in pool.types}),
    ]


def published(name: str, pool: GpuPool, region: str) -> dict[str, Any]:
    """Return what an application team needs to run a GPU pod on the pool (`outputs.GpuPool`), and what idles there."""
    return {
        "product": pool.product,
        "nodeSelector": node_selector(name, pool),
        "toleration": toleration(),
        "capacity": pool.capacity.shape,
        "maxGpus": pool.max_gpus,
        "standingUsdPerHour": pool.standing_usd(region),
    }


def _in(key: str, values: Iterable[str]) -> dict[str, Any]:
    return {"key": key, "operator": "In", "values": sorted(values)}
