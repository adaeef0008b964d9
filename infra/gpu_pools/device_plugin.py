"""NVIDIA's device plugin: without it a node never offers its GPU, and Karpenter never takes it for ready (KP#2833).

Nothing else of NVIDIA's is installed: the driver and the container toolkit are in the node image, and the GPU operator
would bring both again.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import pulumi
from pulumi_kubernetes.helm.v3 import Release

from infra.gpu_pools.agreed import OS_LABEL, PRESENT_LABEL
from infra.image_cache.rewrite import ImageCacheFacts, rewritten
from infra.naming import EVERY_TAINT

CHART, VERSION, REPOSITORY = "nvidia-device-plugin", "0.19.3", "https://nvidia.github.io/k8s-device-plugin"

IMAGE = f"nvcr.io/nvidia/k8s-device-plugin:v{VERSION}"
"""Pulled on the way of every cold start. ECR caches nothing of nvcr.io (aws.md 3), and no other registry was found that
publishes it: a pool that pre-pulls lists it too."""

NAMESPACE = "kube-system"


def node_images(engines: Iterable[str], facts: ImageCacheFacts) -> list[str]:
    """Return what a node pulls ahead: the engines' images first, which are 200 times as large as the plugin's."""
    return [rewritten(image, facts) for image in (*engines, IMAGE)]


def values(image: str) -> dict[str, Any]:
    """Return the chart's values.

    Args:
        image: reference of the image with a tag.
    """
    repository, _, tag = image.rpartition(":")
    return {
        "image": {"repository": repository, "tag": tag, "pullPolicy": "IfNotPresent"},
        # Labels that pools set themselves, so that nothing has to discover a GPU first. Bottlerocket has the plugin
        # built in. The chart's own affinity is content with the first of them.
        "nodeSelector": {PRESENT_LABEL: "true", OS_LABEL: "al2023"},
        "tolerations": [dict(EVERY_TAINT)],
        # without it the plugin looks for Mellanox devices on hosts with EFA (k8s-device-plugin#1692)
        "mofedEnabled": False,
        "gfd": {"enabled": False},
        "nfd": {"enabled": False},
    }


@dataclass(frozen=True, kw_only=True)
class DevicePluginArgs:
    """What the chart is given."""

    images: ImageCacheFacts
    after: Sequence[pulumi.Resource]
    """The cluster with its first nodes."""


class DevicePlugin(pulumi.ComponentResource):
    """The chart. It comes before the pools, so that the first node finds it, and costs nothing while there is none."""

    version: pulumi.Output[str]
    """Of the chart: known when its DaemonSet exists."""

    def __init__(self, name: str, args: DevicePluginArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("vllm-eks:infra:DevicePlugin", name, None, opts)
        release = Release(
            name,
            name=CHART,
            chart=CHART,
            version=VERSION,
            repository_opts={"repo": REPOSITORY},
            namespace=NAMESPACE,
            values=values(rewritten(IMAGE, args.images)),
            # nodes come and go at any time: none that is just starting may decide over an `up`
            skip_await=True,
            opts=pulumi.ResourceOptions(parent=self, depends_on=list(args.after)),
        )
        self.version = release.version
        self.register_outputs({"version": self.version})
