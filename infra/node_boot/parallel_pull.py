"""Whether SOCI parallel pull may be used: the image's release, and the disk and CPUs of every instance type.

On a slow disk it makes pulls slower, not faster (nodeadm doc): it writes as fast as the network brings.
"""

from collections.abc import Iterator, Mapping, Sequence

from infra.instances import InstanceType
from infra.node_boot.ami import Ami, Family

NAME = "parallel-pull"

SINCE: Mapping[Family, tuple[int, ...]] = {"al2023": (20250822,), "bottlerocket": (1, 44, 0)}
"""First releases that know it: AL2023 newer than v20250821, Bottlerocket 1.44.0. Older ones ignore it in silence."""

LEAST_VCPUS, LEAST_MEMORY = 4, 7 * 1024
"""nodeadm ignores the gate below (MiB)."""

LEAST_THROUGHPUT = 600
"""MiB/s of the disk that nodeadm's documentation recommends."""

MBIT_PER_MIB = 8 * 1024**2 / 10**6


def parallel_pull_problems(ami: Ami, types: Sequence[InstanceType]) -> Iterator[str]:
    """Yield why the technique cannot be used on a pool's nodes, each with its numbers."""
    first = SINCE[ami.family]
    if not ami.at_least(first):
        yield f"{NAME}: {ami} is older than v{'.'.join(map(str, first))}, the first {ami.family} release with it"
    for kind in types:
        if kind.vcpus < LEAST_VCPUS or kind.memory < LEAST_MEMORY:
            yield (
                f"{NAME}: {kind.name} has {kind.vcpus} vCPUs and {kind.memory} MiB, nodes below {LEAST_VCPUS} vCPUs or"
                f" {LEAST_MEMORY} MiB ignore it"
            )
        if not kind.local_nvme:
            speed = f"{kind.ebs} Mbit/s = {kind.ebs / MBIT_PER_MIB:.0f} MiB/s" if kind.ebs else "unknown"
            yield (
                f"{NAME}: {kind.name} has no instance store, and its EBS bandwidth is {speed}; expected an"
                f" instance store for RAID0, which alone is sure to write {LEAST_THROUGHPUT} MiB/s"
            )
