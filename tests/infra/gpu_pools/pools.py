"""Pools for the tests, and an evaluator of Karpenter's requirements that shares nothing with what makes them."""

import operator
from collections.abc import Callable, Mapping
from typing import Any

from infra.gpu_pools import GpuPool
from infra.gpu_pools.manifests import Surroundings
from infra.instances import InstanceType, types_with
from infra.section import validated

CAPACITIES: Mapping[str, Any] = {
    "spot-first": "spot-first",
    "on-demand": "on-demand",
    "reserved": {"reserved": {"ids": ["cr-0123456789abcdef0"]}},
    "static": {"static": {"nodes": 1, "market": "on-demand"}},
}
MATRIX_PRODUCTS = ("a10g", "l40s", "h100", "rtx-pro-server-6000")
"""One of each architecture."""

AMIS = {"al2023": "al2023@v20260724", "bottlerocket": "bottlerocket@v1.46.0"}

SURROUNDINGS = Surroundings(
    cluster_name="inference",
    node_role="inference-karpenter-node",
    subnet_ids=["subnet-0123456789abcdef0", "subnet-0123456789abcdef1"],
    security_group_id="sg-0123456789abcdef0",
    tags={"project": "vllm-eks", "cost_center": "42"},
)


def raw(product: str = "l4", **changes: Any) -> dict[str, Any]:
    """A pool as a stack file spells it, right until a test breaks it."""
    static = isinstance(changes.get("capacity"), dict) and "static" in changes["capacity"]
    # a product that no type can have is a mistake under test, and comes with types of its own
    fitting = list(types_with(product)) if isinstance(product, str) else []
    return {
        "product": product,
        "instanceTypes": fitting[:1] if static else fitting,
        "capacity": "spot-first",
        "maxGpus": 8,
        "ami": AMIS["al2023"],
        "rootVolumeGib": 50,
        "techniques": [],
        "warmNodes": 0,
        "consolidateAfter": "never" if static else "10m",
        "updateWindow": "never",
        "expireAfter": "never",
        **changes,
    }


def pool(product: str = "l4", **changes: Any) -> GpuPool:
    return GpuPool.model_validate(raw(product, **changes))


def refusals(product: str = "l4", **changes: Any) -> list[str]:
    """What a user reads about a pool, below `gpuPools.<name>`."""
    given = {key: value for key, value in raw(product, **changes).items() if value is not ...}
    return [str(complaint) for complaint in validated(GpuPool, given, "pool")[1]]


COMPARE: Mapping[str, Callable[[int, int], bool]] = {
    "Gt": operator.gt,
    "Lt": operator.lt,
    "Gte": operator.ge,
    "Lte": operator.le,
}


def holds(rule: Mapping[str, Any], labels: Mapping[str, str]) -> bool:
    """Whether labels fulfil one requirement (karpenter docs, NodePool; Kubernetes node affinity)."""
    has, value = rule["key"] in labels, labels.get(rule["key"], "")
    match rule["operator"]:
        case "Exists":
            return has
        case "DoesNotExist":
            return not has
        case "In":
            return has and value in rule["values"]
        case "NotIn":
            return not has or value not in rule["values"]
        case compared:
            (bound,) = rule["values"]
            return has and COMPARE[compared](int(value), int(bound))


def offered(kind: InstanceType, market: str) -> dict[str, str]:
    """The labels with which Karpenter offers a type: the rows of its page, and where it is bought."""
    return {
        "kubernetes.io/arch": kind.architecture,
        "kubernetes.io/os": "linux",
        "karpenter.sh/capacity-type": market,
        "node.kubernetes.io/instance-type": kind.name,
        "karpenter.k8s.aws/instance-gpu-name": kind.gpu,
        "karpenter.k8s.aws/instance-gpu-count": str(kind.gpus),
        **({"karpenter.k8s.aws/instance-local-nvme": str(kind.local_nvme)} if kind.local_nvme else {}),
    }
