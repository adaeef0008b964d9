"""The tables of docs/upgrades.md: what versions this program knows, and what differs between them."""

from itertools import pairwise

from infra.gpu_pools.device_plugin import IMAGE as DEVICE_PLUGIN
from infra.gpu_pools.warm_nodes import PAUSE_IMAGE
from infra.karpenter.controller import DIGESTS, NEWEST_KUBERNETES
from serving.arguments import ENGINES
from serving.arguments import table as arguments
from serving.front import IMAGE as PROXY
from serving.jobs.small import IMAGE as SMALL
from tests.docs.tables.part import table

IMAGES = {
    "device plugin": (
        DEVICE_PLUGIN,
        "`infra/gpu_pools/device_plugin.py`",
        "the DaemonSet; with `image-prepull` all nodes",
    ),
    "front proxy": (PROXY, "`serving/front/__init__.py`", "servers with `front-proxy`"),
    "onboarding, schedules": (SMALL, "`serving/jobs/small.py`", "nothing that serves"),
    "pause pods": (PAUSE_IMAGE, "`infra/gpu_pools/warm_nodes.py`", "pause pods: their nodes are empty for a moment"),
}


def karpenter() -> str:
    """Return which minor releases of Karpenter are known, and up to which Kubernetes they work."""
    rows = [
        [minor, newest, ", ".join(it for it in DIGESTS if it.startswith(f"{minor}.")) or "none: say `karpenter.digest`"]
        for minor, newest in NEWEST_KUBERNETES.items()
    ]
    return table(["Karpenter", "up to Kubernetes", "releases whose digest is known"], rows)


def flags() -> str:
    """Return the flags that a step of the engine takes away, and how many it brings."""
    rows = []
    for before, after in pairwise(ENGINES):
        old, new = arguments(before), arguments(after)
        gone = ", ".join(f"`{name}`" for name in sorted(old.keys() - new.keys()))
        rows.append([f"{before} -> {after}", gone or "none", str(len(new.keys() - old.keys()))])
    return table(["engine", "flags that are gone", "new ones"], rows)


def images() -> str:
    """Return the images that the program itself names, where, and what another one restarts."""
    rows = [[what, f"`{image}`", where, restarts] for what, (image, where, restarts) in IMAGES.items()]
    return table(["of", "image", "where", "another one restarts"], rows)
