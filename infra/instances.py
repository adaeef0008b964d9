"""The GPU instance catalogue: what each EC2 type offers. One number per type; everything that counts reads it here.

`instances.csv` is Karpenter's own table of instance types (website of v1.14, types with a GPU), sorted by type.
"""

import csv
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

CATALOGUE = Path(__file__).with_name("instances.csv")

ARCHITECTURES = {
    "a10g": "ampere",
    "a100": "ampere",
    "l4": "ada",
    "l40s": "ada",
    "h100": "hopper",
    "h200": "hopper",
    "b200": "blackwell",
    "b300": "blackwell",
    "rtx-pro-server-6000": "blackwell",
}
"""GPU products that a pool may have. Left out: AMD, Arm hosts, Volta and Turing, and `rtx-pro-4500` (family g7), whose
driver 595 the stock AL2023 NVIDIA image did not have (EKS user guide, 2026)."""


@dataclass(frozen=True)
class InstanceType:
    """One row of the catalogue. Memory in MiB, network in Mbit/s (sustained), local NVMe in GiB."""

    name: str
    architecture: str
    """Of the CPU: amd64 or arm64."""
    gpu: str
    """Value of the node label `karpenter.k8s.aws/instance-gpu-name`."""
    gpus: int
    gpu_memory: int
    """Of one GPU."""
    network: int
    local_nvme: int
    allocatable_cpu: int
    """In millicores: what a pod and the DaemonSets share."""
    allocatable_memory: int


@cache
def catalogue() -> Mapping[str, InstanceType]:
    """Return every GPU instance type by name."""
    with CATALOGUE.open(newline="") as file:
        return {
            row["type"]: InstanceType(
                name=row["type"],
                architecture=row["arch"],
                gpu=row["gpu_name"],
                gpus=int(row["gpu_count"]),
                gpu_memory=int(row["gpu_mem_mib_per_gpu"]),
                network=int(row["net_mbps_baseline"]),
                local_nvme=int(row["local_nvme_gib"] or 0),
                allocatable_cpu=int(row["alloc_cpu"].removesuffix("m")),
                allocatable_memory=int(row["alloc_mem"].removesuffix("Mi")),
            )
            for row in csv.DictReader(file)
        }


def types_with(product: str) -> tuple[str, ...]:
    """Return the usable types of a GPU product. Fractional ones (g6f) report no GPU to Kubernetes, so they are not."""
    return tuple(name for name, kind in catalogue().items() if kind.gpu == product and kind.gpus > 0)
