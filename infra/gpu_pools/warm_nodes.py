"""Nodes that stay ready without work: pods that do nothing, and give way to every server.

A server that comes takes the place of such a pod at once; the pod then waits, and Karpenter makes the next node for it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pulumi
from pulumi_kubernetes.apps.v1 import Deployment
from pulumi_kubernetes.scheduling.v1 import PriorityClass

from infra.gpu_pools.agreed import GPU_RESOURCE, node_selector, toleration
from infra.gpu_pools.pool import GpuPool
from infra.image_cache.rewrite import ImageCacheFacts, rewritten

SERVERS, WARM_NODES = "vllm-servers", "vllm-warm-nodes"
"""Names of the priority classes. They belong to the cluster, and the cluster to the stack."""

PRIORITIES = {SERVERS: 1000, WARM_NODES: -10}
"""Pods without a class have 0: the servers come before every other GPU pod, pause pods after.

Never below -2^25: there Karpenter counts a pod's eviction as free, and a node with nothing else as empty (karpenter
v1.14.1, pkg/utils/disruption/disruption.go, EvictionCost)."""

PAUSE_IMAGE = "registry.k8s.io/pause:3.10"

NOBODY = 65535
"""User that the pause image itself runs as."""


@dataclass(frozen=True, kw_only=True)
class PodSize:
    """What a pod asks of its node: the largest server of a pool."""

    cpu: int
    """In vCPUs."""
    memory_gib: int
    gpus: int


@dataclass(frozen=True, kw_only=True)
class WarmNodesArgs:
    """Plain values decide what exists."""

    pools: Mapping[str, GpuPool]
    sizes: Mapping[str, PodSize]
    """By pool; each pool with warm nodes has one."""
    namespace: pulumi.Input[str]
    """Where the pause pods run."""
    images: ImageCacheFacts
    after: Sequence[pulumi.Resource]
    """The pools: their pods come after them and go before."""


class WarmNodes(pulumi.ComponentResource):
    """Who takes a GPU first, and the pods that keep nodes ready."""

    server_priority: pulumi.Output[str]
    """Name of the servers' priority class."""

    def __init__(self, name: str, args: WarmNodesArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("vllm-eks:infra:WarmNodes", name, None, opts)
        classes = {
            title: PriorityClass(
                f"{name}-{title}",
                metadata={"name": title},
                value=value,
                global_default=False,
                description="Set by vllm-eks",
                # the API server changes no value, and the provider does not know that
                opts=pulumi.ResourceOptions(parent=self, replace_on_changes=["value"], delete_before_replace=True),
            )
            for title, value in PRIORITIES.items()
        }
        for key, pool in args.pools.items():
            if pool.warm_nodes:
                Deployment(
                    f"{name}-{key}",
                    metadata={
                        "name": pause_deployment(key),
                        "namespace": args.namespace,
                        "labels": _labels(key),
                        # a pause pod that waits for a node is in order: it has given way
                        "annotations": {"pulumi.com/skipAwait": "true"},
                    },
                    spec=deployment(
                        key,
                        pool,
                        args.sizes[key],
                        rewritten(PAUSE_IMAGE, args.images),
                        classes[WARM_NODES].metadata.name,
                    ),
                    opts=pulumi.ResourceOptions(parent=self, depends_on=list(args.after)),
                )
        self.server_priority = classes[SERVERS].metadata.name
        self.register_outputs({"serverPriority": self.server_priority})


def pause_deployment(pool: str) -> str:
    """Return the name of the Deployment of a pool's pause pods: no server may be called so."""
    return f"warm-{pool}"


def deployment(name: str, pool: GpuPool, size: PodSize, image: str, priority: pulumi.Input[str]) -> Any:
    """Return the spec of the Deployment of a pool's pause pods."""
    gpus = {GPU_RESOURCE: str(size.gpus)}
    return {
        "replicas": pool.warm_nodes,
        "selector": {"matchLabels": _labels(name)},
        # a surge would be another node
        "strategy": {"type": "Recreate"},
        "template": {
            "metadata": {"labels": _labels(name)},
            "spec": {
                "priorityClassName": priority,
                "nodeSelector": node_selector(name, pool),
                "tolerations": [toleration()],
                # each keeps a node of its own, however many GPUs a node has
                "affinity": {
                    "podAntiAffinity": {
                        "requiredDuringSchedulingIgnoredDuringExecution": [
                            {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": _labels(name)}}
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
                            "requests": {"cpu": str(size.cpu), "memory": f"{size.memory_gib}Gi", **gpus},
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


def _labels(name: str) -> dict[str, str]:
    return {"app.kubernetes.io/name": "warm-nodes", "app.kubernetes.io/instance": name}
