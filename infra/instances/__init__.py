"""The GPU instance catalogue: what each EC2 type offers. One number per type; everything that counts reads it here.

`instances.csv` is Karpenter's own table of instance types (website of v1.14, types with a GPU), sorted by type, and
`prices.csv` its table of on-demand prices. `infra.instances.refresh` says how both are made again.
"""

import csv
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

CATALOGUE = Path(__file__).with_name("instances.csv")
PRICES = Path(__file__).with_name("prices.csv")

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

LEAST_NVME = 200
"""GiB of local disk that a usable type has more than: images, kubelet and caches lie there, on a RAID0 array."""


@dataclass(frozen=True)
class InstanceType:
    """One row of the catalogue. Memory in MiB, bandwidths in Mbit/s (sustained), local NVMe in GiB."""

    name: str
    family: str
    architecture: str
    """Of the CPU: amd64 or arm64."""
    gpu: str
    """Value of the node label `karpenter.k8s.aws/instance-gpu-name`."""
    gpus: int
    gpu_memory: int
    """Of one GPU."""
    vcpus: int
    memory: int
    network: int
    ebs: int
    """0: unknown."""
    local_nvme: int
    allocatable_cpu: int
    """In millicores: what a pod and the DaemonSets share."""
    allocatable_memory: int
    interface_addresses: int
    """IPv4 addresses of one network interface."""


@dataclass(frozen=True)
class Price:
    """Of one hour on-demand."""

    usd: float
    source: str
    """Where it comes from: region and day, or the stack file."""


@cache
def catalogue() -> Mapping[str, InstanceType]:
    """Return every GPU instance type by name."""
    with CATALOGUE.open(newline="") as file:
        return {
            row["type"]: InstanceType(
                name=row["type"],
                family=row["family"],
                architecture=row["arch"],
                gpu=row["gpu_name"],
                gpus=int(row["gpu_count"]),
                gpu_memory=int(row["gpu_mem_mib_per_gpu"]),
                vcpus=int(row["vcpu"]),
                memory=int(row["mem_mib"]),
                network=int(row["net_mbps_baseline"]),
                ebs=int(row["ebs_mbps"] or 0),
                local_nvme=int(row["local_nvme_gib"] or 0),
                allocatable_cpu=int(row["alloc_cpu"].removesuffix("m")),
                allocatable_memory=int(row["alloc_mem"].removesuffix("Mi")),
                interface_addresses=int(row["eni_ipv4"]),
            )
            for row in csv.DictReader(file)
        }


@cache
def types_with(product: str) -> tuple[str, ...]:
    """Return the usable types of a GPU product.

    Fractional ones (g6f) report no GPU to Kubernetes, and one without a local disk has nowhere fast for its images.
    """
    return tuple(
        name
        for name, kind in catalogue().items()
        if kind.gpu == product and kind.gpus > 0 and kind.local_nvme > LEAST_NVME
    )


@cache
def _prices() -> Mapping[tuple[str, str], Price]:
    with PRICES.open(newline="") as file:
        return {
            (row["type"], row["region"]): Price(float(row["usd_per_hour"]), f"{row['region']}, {row['day']}")
            for row in csv.DictReader(file)
        }


def on_demand_price(name: str, region: str) -> Price | None:
    """Return the list price of a type, or None where no source has one for exactly this region."""
    return _prices().get((name, region))
