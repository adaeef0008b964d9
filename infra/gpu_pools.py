"""GPU pools: what a pool is, and everything that nodes and pods must agree on, made from it once.

A pool has exactly one GPU product. `ada` alone would mix L4 and L40S, and with them compile caches that crash on the
other product (club-3090#572).
"""

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import Field, ValidationInfo, field_validator

from infra.instances import ARCHITECTURES, InstanceType, catalogue, types_with
from infra.section import EachOnce, Section, Whole, nearest

POOL_LABEL = "vllm-eks/pool"
ARCHITECTURE_LABEL = "vllm-eks/gpu-architecture"
PRODUCT_LABEL = "karpenter.k8s.aws/instance-gpu-name"
"""Karpenter puts it on every GPU node; a pool's requirements pin its value."""

GPU_RESOURCE = "nvidia.com/gpu"

TAINT: Mapping[str, str] = {"key": GPU_RESOURCE, "value": "true", "effect": "NoSchedule"}
"""On every node of every GPU pool: only pods that ask for a GPU, and the DaemonSets that they need, run there."""

EVERY_TAINT: Mapping[str, str] = {"operator": "Exists"}
"""Toleration of node agents: a second taint on a pool must not keep them off (k8s-device-plugin#68)."""


class GpuPool(Section):
    """`gpuPools.<name>`."""

    product: str = Field(description=f"one GPU product: {', '.join(sorted(ARCHITECTURES))}")
    instance_types: Annotated[tuple[str, ...], Field(min_length=1), EachOnce] = Field(
        description="a list of EC2 instance types that carry this product"
    )
    capacity: Literal["spot-first", "on-demand"] = Field(description="spot-first or on-demand")
    max_gpus: Annotated[Whole, Field(ge=1, le=1000)] = Field(description="a whole number of GPUs, 1 to 1000")

    @field_validator("product")
    @classmethod
    def _product(cls, value: str) -> str:
        if value not in ARCHITECTURES:
            raise ValueError(f"not a GPU product that a pool may have; {nearest(value, list(ARCHITECTURES))}")
        return value

    @field_validator("instance_types")
    @classmethod
    def _types(cls, value: tuple[str, ...], info: ValidationInfo) -> tuple[str, ...]:
        # without a product (it is refused already) the types must still be in the catalogue: other checks read it
        product = info.data.get("product")
        usable = types_with(product) if product else tuple(catalogue())
        lacks = f"whole {product} GPU" if product else "row in the catalogue"
        wrong = [f"{name} has no {lacks}, {nearest(name, usable)}" for name in value if name not in usable]
        if wrong:
            raise ValueError("; ".join(wrong))
        return value

    @field_validator("max_gpus")
    @classmethod
    def _room(cls, value: int, info: ValidationInfo) -> int:
        for name in info.data.get("instance_types", ()):
            gpus = catalogue()[name].gpus
            if gpus > value:
                raise ValueError(f"one {name} has {gpus} GPUs, so the pool could never start it")
        return value

    @property
    def types(self) -> tuple[InstanceType, ...]:
        """The catalogue's rows of this pool's instance types."""
        return tuple(catalogue()[name] for name in self.instance_types)


def labels(name: str, pool: GpuPool) -> dict[str, str]:
    """Return the labels that the pool puts on its nodes.

    `nvidia.com/gpu.present` is what the device plugin's chart selects on (KP#2833).
    """
    return {
        POOL_LABEL: name,
        ARCHITECTURE_LABEL: ARCHITECTURES[pool.product],
        "nvidia.com/gpu.present": "true",
    }


def node_selector(name: str, pool: GpuPool) -> dict[str, str]:
    """Return the selector of pods that belong on the pool: its own label and the exact product."""
    return {POOL_LABEL: name, PRODUCT_LABEL: pool.product}


def toleration() -> dict[str, str]:
    """Return the toleration made from the taint. `Exists`: a value can never disagree."""
    return {"key": TAINT["key"], "operator": "Exists", "effect": TAINT["effect"]}


def requirements(pool: GpuPool) -> list[dict[str, Any]]:
    """Return the NodePool requirements that admit the pool's instance types and no other.

    One pool with both capacity types is Spot-first: Karpenter takes Spot while an offering is available
    (pkg/providers/instance, v1.14.1). No `minValues`: it turns off the filter that drops Spot dearer than on-demand.
    """
    return [
        _in("kubernetes.io/arch", {kind.architecture for kind in pool.types}),
        _in("kubernetes.io/os", {"linux"}),
        _in("karpenter.sh/capacity-type", {"on-demand"} | ({"spot"} if pool.capacity == "spot-first" else set())),
        _in(PRODUCT_LABEL, {pool.product}),
        _in("karpenter.k8s.aws/instance-gpu-count", {str(kind.gpus) for kind in pool.types}),
        _in("node.kubernetes.io/instance-type", set(pool.instance_types)),
    ]


def published(name: str, pool: GpuPool) -> dict[str, Any]:
    """Return what an application team needs to run a GPU pod on the pool (`outputs.GpuPool`)."""
    return {
        "product": pool.product,
        "nodeSelector": node_selector(name, pool),
        "toleration": toleration(),
        "capacity": pool.capacity,
        "maxGpus": pool.max_gpus,
    }


def _in(key: str, values: set[str]) -> dict[str, Any]:
    return {"key": key, "operator": "In", "values": sorted(values)}
