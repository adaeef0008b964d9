"""Where a node keeps what servers cache between pods. One value per OS and disk."""

from collections.abc import Mapping
from typing import Literal

from infra.node_boot.ami import Family

Disk = Literal["raid0", "ebs"]
"""`raid0`: the instance store, by `instanceStorePolicy: RAID0`. `ebs`: the volume that holds images and pods."""

_FOLDER = "vllm-eks"

_MOUNTS: Mapping[tuple[Family, Disk], str] = {
    # nodeadm's default mountPath; without the array the same path is silently a folder of the root volume
    ("al2023", "raid0"): "/mnt/k8s-disks/0",
    ("al2023", "ebs"): "/var/lib",
    # where `apiclient ephemeral-storage init` mounts, as on EKS Auto Mode, which is the same OS
    ("bottlerocket", "raid0"): "/mnt/.ephemeral",
    # the data volume
    ("bottlerocket", "ebs"): "/local",
}

UNPROVEN: Mapping[tuple[Family, Disk], str] = {
    ("al2023", "ebs"): "read in no source as a place for caches; any folder of the root volume serves",
    ("bottlerocket", "raid0"): "SELinux may keep containers from writing there",
    ("bottlerocket", "ebs"): "SELinux may keep containers from writing there",
}
"""Combinations whose root rests on a reading alone, and what to look at first."""


def cache_root(os: Family, disk: Disk) -> str:
    """Return the folder on the node (hostPath) below which every server's cache lies."""
    return f"{_MOUNTS[os, disk]}/{_FOLDER}"
