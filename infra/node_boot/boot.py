"""The boot of a node as one value, the userData made from it, and what cannot be asked together."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from infra.instances import InstanceType
from infra.node_boot import nodeconfig, parallel_pull, prepull
from infra.node_boot.ami import Ami, Family
from infra.node_boot.bottlerocket import BottlerocketSettings
from infra.node_boot.nodeconfig import NodeConfig

LIMIT = 16 * 1024
"""Bytes of userData that EC2 takes, before base64 (EC2 user guide, instancedata-add-user-data)."""

OF_KARPENTER = 4 * 1024
"""Bytes that Karpenter adds to it: a part with the cluster's name, endpoint and certificate, labels, taints, kubelet
settings. Estimated from a certificate of 1,500 characters and a name of 100."""

_BOUNDARY = "//"


@dataclass(frozen=True, kw_only=True)
class NodeBoot:
    """What a pool asks of its nodes' boot."""

    os: Family
    parallel_pull: bool
    """SOCI parallel pull."""
    prepull: tuple[str, ...]
    """References to pull while the node joins, exactly as pods spell them; empty: none."""


def user_data(boot: NodeBoot) -> str:
    """Return the userData of the EC2NodeClass, before base64. Empty on a Bottlerocket that is asked for nothing.

    Raises:
        AssertionError: `boot_problems` was not asked before.
    """
    refused = [*_together(boot)]
    if refused:
        raise AssertionError(f"refused before any resource: {refused}")
    return _written(boot)


def boot_problems(boot: NodeBoot, ami: Ami, types: Sequence[InstanceType]) -> Iterator[str]:
    """Yield why nodes of these types cannot boot so, each a sentence that begins with the technique."""
    yield from _together(boot)
    if boot.parallel_pull:
        yield from parallel_pull.parallel_pull_problems(ami, types)


def _together(boot: NodeBoot) -> Iterator[str]:
    if boot.prepull and boot.os != "al2023":
        yield f"{prepull.NAME}: {boot.os} has no shell; expected an al2023 image"
        return
    if boot.prepull and boot.parallel_pull:
        yield (
            f"{prepull.NAME}: not together with {parallel_pull.NAME} until a node has shown that an image pulled past"
            " kubelet into SOCI's snapshotter is found by it"
        )
    size = len(_written(boot).encode())
    if size + OF_KARPENTER > LIMIT:
        yield (
            f"{prepull.NAME}: userData {size} bytes with {len(boot.prepull)} images + {OF_KARPENTER} bytes of"
            f" Karpenter's = {size + OF_KARPENTER} bytes > {LIMIT} bytes that EC2 takes"
        )


def _written(boot: NodeBoot) -> str:
    if boot.os == "bottlerocket":
        return str(BottlerocketSettings(parallel_pull=boot.parallel_pull))
    # a sidecar's small image must not wait behind the engine's 10 GB
    config = NodeConfig(fast_image_pull=boot.parallel_pull, serialize_image_pulls=False)
    parts = [(nodeconfig.MEDIA_TYPE, str(config))]
    if boot.prepull:
        parts.append((prepull.MEDIA_TYPE, prepull.prepull_script(boot.prepull)))
    return _multipart(parts)


def _multipart(parts: Sequence[tuple[str, str]]) -> str:
    """Return a MIME document as cloud-init and Karpenter read it: LF, and a blank line before each body (KRP-05)."""
    lines = ["MIME-Version: 1.0", f'Content-Type: multipart/mixed; boundary="{_BOUNDARY}"', ""]
    for media_type, body in parts:
        lines += [f"--{_BOUNDARY}", f"Content-Type: {media_type}", "", body.rstrip("\n"), ""]
    return "\n".join([*lines, f"--{_BOUNDARY}--", ""])
