"""GPU instance types: which labels their nodes have, and what pods get of them."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from guardrails.pools import INSTANCE_TYPE
from guardrails.value import Value

_KARPENTER = "karpenter.k8s.aws/instance-"
GPU_NAME = f"{_KARPENTER}gpu-name"
_LABELS = {
    "kubernetes.io/arch": "arch",
    f"{_KARPENTER}category": "category",
    f"{_KARPENTER}generation": "generation",
    f"{_KARPENTER}gpu-manufacturer": "gpu_mfr",
    GPU_NAME: "gpu_name",
    f"{_KARPENTER}gpu-count": "gpu_count",
    f"{_KARPENTER}gpu-memory": "gpu_mem_mib_per_gpu",
    f"{_KARPENTER}cpu": "vcpu",
    f"{_KARPENTER}memory": "mem_mib",
    f"{_KARPENTER}local-nvme": "local_nvme_gib",
}
FAMILY, SIZE = f"{_KARPENTER}family", f"{_KARPENTER}size"
TOLD = frozenset({INSTANCE_TYPE, FAMILY, SIZE, *_LABELS})
"""Labels that an instance type decides, as far as they are known here."""


@dataclass(frozen=True, eq=False)
class Kind:
    """An instance type."""

    name: str
    labels: Mapping[str, str]
    has: Mapping[str, Any]
    """Allocatable resources to quantities."""
    listed: bool = True
    """Whether its labels are all known; of one that the configuration adds only its name is."""


@cache
def _table() -> Mapping[str, Kind]:
    """Return Karpenter's own table (website of v1.14, types with a GPU), kept in `instances.csv`."""
    found = {}
    with Path(__file__).with_name("instances.csv").open(newline="") as file:
        for row in csv.DictReader(file):
            name = row["type"]
            family, _, size = name.partition(".")
            labels = {label: row[column] for label, column in _LABELS.items()}
            if labels[f"{_KARPENTER}local-nvme"] == "0":
                # a type without local disks has no such label
                del labels[f"{_KARPENTER}local-nvme"]
            has = {f"{row['gpu_mfr']}.com/gpu": row["gpu_count"], "cpu": row["alloc_cpu"], "memory": row["alloc_mem"]}
            found[name] = Kind(name, {**labels, INSTANCE_TYPE: name, FAMILY: family, SIZE: size}, has)
    return found


def kinds(given: object) -> Mapping[str, Kind]:
    """Return all types by name: the table, and over it what the configuration gives (type to resource to quantity).

    Raises:
        MalformedError: the configuration is no such mapping.
    """
    found = dict(_table())
    for name, has in Value(given, "allocatable").fields():
        known = found.get(name)
        if known:
            found[name] = Kind(name, known.labels, {**known.has, **has.mapping()})
        else:
            found[name] = Kind(name, {INSTANCE_TYPE: name}, has.mapping(), listed=False)
    return found
