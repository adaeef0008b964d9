"""Disk of a node: the engine's image, the servers' caches, and weights where a technique keeps them there."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from infra.instances import InstanceType
from infra.node_boot import parallel_pull
from serving.budget import Problem
from serving.model import GIB
from serving.pod import Situation

IMAGE_PULLED, IMAGE_UNPACKED = 9.35 * 10**9 / GIB, 25 * 10**9 / GIB
"""GiB of the engine's image: compressed (9.35 GB: the vLLM image of the Karpenter blueprint on SOCI; 12 GB in
vllm#27154) and unpacked (up to 25 GB: vllm#17163). Not weighed here."""

CACHE, CACHES_KEPT = 0.5, 4
"""GiB of one server's start-up cache (article 000: 218 MB; bytecode 99 MB more: cold-start.md 1.4), and how many of
them a node keeps: every released fingerprint leaves a folder. Estimated."""

SPARE = 15
"""Percent of the disk that must stay free: kubelet evicts pods when less than 10 % of its own file system or less than
15 % of the images' is (kubernetes.io, node-pressure eviction, defaults). All of them lie on one array."""

LOCAL_WEIGHTS = "local-weights"
"""Name of the technique that keeps the weights on the node."""


@dataclass(frozen=True)
class Footprint:
    """What one server leaves on a node, in GiB."""

    image: str
    """Upstream reference. Servers of one image share it."""
    image_gib: float
    caches: float
    weights: float

    @property
    def total(self) -> float:
        """All of it."""
        return self.image_gib + self.caches + self.weights


def footprint(situation: Situation, names: Sequence[str]) -> Footprint:
    """Return what a server leaves on each node where it ran.

    Args:
        situation: the server.
        names: all techniques that act on it, its pool's too.
    """
    # while it is unpacked, containerd holds both; SOCI's parallel pull discards each layer behind itself
    pulled = 0.0 if parallel_pull.NAME in names else IMAGE_PULLED
    return Footprint(
        image=situation.engine.image_reference,
        image_gib=pulled + IMAGE_UNPACKED,
        caches=CACHE * CACHES_KEPT,
        weights=situation.model.size_gib if LOCAL_WEIGHTS in names else 0.0,
    )


def room(kind: InstanceType) -> float:
    """Return the GiB that images, caches and weights have on a type: of its local NVMe, which every type has."""
    return kind.local_nvme * (100 - SPARE) / 100


def refusals(situation: Situation, names: Sequence[str]) -> Iterator[Problem]:
    """Yield why what one server leaves on a node has no room there."""
    left = footprint(situation, names)
    path = ("model", "sizeGib") if left.weights else ("pool",)
    for kind in situation.pool.types:
        space = room(kind)
        if left.total > space:
            yield path, f"disk {_sum(left)} = {left.total:.1f} GiB > {_room(kind)}"


def warnings(situation: Situation, names: Sequence[str], others: Mapping[str, Footprint]) -> Iterator[Problem]:
    """Yield that a server has room on a node by itself, and not with all servers of its pool that may have run there.

    Args:
        situation: the server.
        names: all techniques that act on it.
        others: what the other servers of its pool leave, by name.
    """
    own = footprint(situation, names)
    images = {own.image, *(it.image for it in others.values())}
    for kind in situation.pool.types:
        space = room(kind)
        rest = sum(it.caches + it.weights for it in others.values())
        total = own.image_gib * len(images) + own.caches + own.weights + rest
        if own.total <= space < total:
            yield (
                ("pool",),
                f"disk {own.image_gib * len(images):.1f} GiB images + {own.caches + own.weights:.1f} GiB own"
                f" + {rest:.1f} GiB of {', '.join(sorted(others))} = {total:.1f} GiB > {_room(kind)}",
            )


def _room(kind: InstanceType) -> str:
    return f"{room(kind):.1f} GiB of local NVMe on {kind.name} ({100 - SPARE} % of it)"


def line(situation: Situation, names: Sequence[str], kind: InstanceType) -> str:
    """Return the sum as text."""
    left = footprint(situation, names)
    return f"{_sum(left)} = {left.total:.1f} GiB of {room(kind):.0f} GiB of local NVMe on {kind.name}"


def _sum(left: Footprint) -> str:
    weights = f" + {left.weights:.1f} GiB weights" if left.weights else ""
    return f"{left.image_gib:.1f} GiB image + {left.caches:.1f} GiB caches{weights}"
