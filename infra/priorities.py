"""Who takes a GPU first: priority classes of servers, of cache builds, and of the pods that only keep nodes ready."""

from dataclasses import dataclass

import pulumi
from pulumi_kubernetes.scheduling.v1 import PriorityClass

SERVERS, BUILDS, WARM_NODES = "vllm-servers", "vllm-cache-builds", "vllm-warm-nodes"
"""Names of the priority classes. They belong to the cluster, and the cluster to the stack."""

PRIORITIES = {SERVERS: 1000, BUILDS: -5, WARM_NODES: -10}
"""Pods without a class have 0: the servers come before every other GPU pod, pause pods after.

A build takes the place of a pause pod and of nobody else, and gives it to whoever serves: a server between two pods
would else wait for the build's end.

Never below -2^25: there Karpenter counts a pod's eviction as free, and a node with nothing else as empty (karpenter
v1.14.1, pkg/utils/disruption/disruption.go, EvictionCost)."""


@dataclass(frozen=True, kw_only=True)
class PrioritiesArgs:
    """The values are the same everywhere."""

    cluster_name: str
    """For people who find the classes."""


class Priorities(pulumi.ComponentResource):
    """The classes. Pods of other teams without one come after the servers and before the rest."""

    servers: pulumi.Output[str]
    """Name of the servers' class."""
    builds: pulumi.Output[str]
    """Name of the class of cache builds."""
    warm_nodes: pulumi.Output[str]
    """Name of the pause pods' class."""

    def __init__(self, name: str, args: PrioritiesArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("vllm-eks:infra:Priorities", name, None, opts)
        classes = {
            title: PriorityClass(
                f"{name}-{title}",
                metadata={"name": title},
                value=value,
                global_default=False,
                description=f"Set by the stack of {args.cluster_name}",
                # the API server changes no value, and the provider does not know that
                opts=pulumi.ResourceOptions(parent=self, replace_on_changes=["value"], delete_before_replace=True),
            )
            for title, value in PRIORITIES.items()
        }
        self.servers, self.builds, self.warm_nodes = (
            classes[title].metadata.name for title in (SERVERS, BUILDS, WARM_NODES)
        )
        self.register_outputs({"servers": self.servers, "builds": self.builds, "warmNodes": self.warm_nodes})
