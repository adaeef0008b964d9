"""Nodes that stay ready without work: pods that do nothing, and give way to every server.

A server that comes takes the place of such a pod at once; the pod then waits, and Karpenter makes the next node for it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pulumi
from pulumi_kubernetes.apps.v1 import Deployment

from infra.gpu_pools.agreed import GPU_RESOURCE, node_selector, toleration
from infra.gpu_pools.pool import GpuPool
from infra.image_cache.rewrite import ImageCacheFacts, rewritten

PAUSE_IMAGE = "registry.k8s.io/pause:3.10"

NOBODY = 65535
"""User that the pause image itself runs as."""


@dataclass(frozen=True, kw_only=True)
class PodSize:
    """What a pod asks of its node, all of its containers together."""

    cpu: int
    """In millicores."""
    memory: int
    """In MiB."""
    gpus: int


@dataclass(frozen=True, kw_only=True)
class WarmNodesArgs:
    """Plain values decide what exists."""

    pools: Mapping[str, GpuPool]
    sizes: Mapping[str, PodSize]
    """By pool; each pool with warm nodes has one."""
    namespace: pulumi.Input[str]
    """Where the pause pods run."""
    priority: pulumi.Input[str]
    """Priority class of the pause pods, below every other pod's."""
    images: ImageCacheFacts
    after: Sequence[pulumi.Resource]
    """The pools: their pods come after them and go before."""


class WarmNodes(pulumi.ComponentResource):
    """The pods that keep nodes ready."""

    deployments: Mapping[str, pulumi.Output[str]]
    """Names of the Deployments, by pool that has one."""

    def __init__(self, name: str, args: WarmNodesArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("vllm-eks:infra:WarmNodes", name, None, opts)
        made = {
            key: Deployment(
                f"{name}-{key}",
                metadata={
                    "name": pause_deployment(key),
                    "namespace": args.namespace,
                    "labels": pause_labels(key),
                    # a pause pod that waits for a node is in order: it has given way
                    "annotations": {"pulumi.com/skipAwait": "true"},
                },
                spec=deployment(key, pool, args.sizes[key], rewritten(PAUSE_IMAGE, args.images), args.priority),
                opts=pulumi.ResourceOptions(parent=self, depends_on=list(args.after)),
            )
            for key, pool in args.pools.items()
            if pool.warm_nodes
        }
        self.deployments = {key: each.metadata.name for key, each in made.items()}
        self.register_outputs({"deployments": self.deployments})


def pause_deployment(pool: str) -> str:
    """Return the name of the Deployment of a pool's pause pods: no server may be called so."""
    return f"warm-{pool}"


def deployment(name: str, pool: GpuPool, size: PodSize, image: str, priority: pulumi.Input[str]) -> Any:
    """Return the spec of the Deployment of a pool's pause pods."""
    gpus = {GPU_RESOURCE: str(size.gpus)}
    return {
        "replicas": pool.warm_nodes,
        "selector": {"matchLabels": pause_labels(name)},
        # a surge would be another node
        "strategy": {"type": "Recreate"},
        "template": {
            "metadata": {"labels": pause_labels(name)},
            "spec": {
                "priorityClassName": priority,
                "nodeSelector": node_selector(name, pool),
                "tolerations": [toleration()],
                # each keeps a node of its own, however many GPUs a node has
                "affinity": {
                    "podAntiAffinity": {
                        "requiredDuringSchedulingIgnoredDuringExecution": [
                            {
                                "topologyKey": "kubernetes.io/hostname",
                                "labelSelector": {"matchLabels": pause_labels(name)},
                            }
                        ]
                    }
                },
                # gone the moment that a server wants the place
                "terminationGracePeriodSeconds": 0,
                "automountServiceAccountToken": False,
                "enableServiceLinks": False,
                "securityContext": {
                    "runAsNonRoot": True,
                    "runAsUser": NOBODY,
                    "seccompProfile": {"type": "RuntimeDefault"},
                },
                "containers": [
                    {
                        "name": "pause",
                        "image": image,
                        "imagePullPolicy": "IfNotPresent",
                        "resources": {
                            "requests": {"cpu": f"{size.cpu}m", "memory": f"{size.memory}Mi", **gpus},
                            "limits": gpus,
                        },
                        "securityContext": {
                            "allowPrivilegeEscalation": False,
                            "readOnlyRootFilesystem": True,
                            "capabilities": {"drop": ["ALL"]},
                        },
                    }
                ],
            },
        },
    }


def pause_labels(name: str) -> dict[str, str]:
    """Return the labels of a pool's pause pods: who counts what runs on the pool knows them by these."""
    return {"app.kubernetes.io/name": "warm-nodes", "app.kubernetes.io/instance": name}
