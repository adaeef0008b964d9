"""GPU pools: what a pool is, and everything that nodes and pods must agree on, made from it once.

A pool has exactly one GPU product. `ada` alone would mix L4 and L40S, and with them compile caches that crash on the
other product (club-3090#572).
"""

from infra.gpu_pools.agreed import (
    AGENTS_CPU,
    AGENTS_MEMORY,
    ARCHITECTURE_LABEL,
    GPU_RESOURCE,
    LONGEST_GRACE,
    OS_LABEL,
    POOL_LABEL,
    PRESENT_LABEL,
    PRODUCT_LABEL,
    TAINT,
    labels,
    node_selector,
    published,
    requirements,
    toleration,
)
from infra.gpu_pools.pool import GpuPool

__all__ = [
    "AGENTS_CPU",
    "AGENTS_MEMORY",
    "ARCHITECTURE_LABEL",
    "GPU_RESOURCE",
    "LONGEST_GRACE",
    "OS_LABEL",
    "POOL_LABEL",
    "PRESENT_LABEL",
    "PRODUCT_LABEL",
    "TAINT",
    "GpuPool",
    "labels",
    "node_selector",
    "published",
    "requirements",
    "toleration",
]
