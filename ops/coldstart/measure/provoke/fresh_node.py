"""fresh-node: there is no node for the pod, so Karpenter makes one."""

from collections.abc import Sequence
from dataclasses import dataclass

from infra.gpu_pools import GPU_RESOURCE, POOL_LABEL
from ops.cluster.api import Body, Cluster
from ops.cluster.room import gives_way, gpus, pods
from ops.coldstart.measure.provoke import (
    CLAIMS,
    NODES,
    PODS,
    Before,
    Say,
    comes_back,
    grace,
    node_of,
    scaled_down,
    until,
)
from ops.coldstart.measure.put_back import PutBack
from ops.coldstart.measure.target import Target
from ops.failures import RefusedError

GOING = 600.0
"""Seconds that Karpenter and EC2 may take to end a node: it waits for the instance's end. Estimated."""

USUAL = 90.0
"""Seconds that they are expected to take. Estimated."""


@dataclass(frozen=True, kw_only=True)
class FreshNode:
    """After the node of the only pod has gone."""

    cluster: Cluster
    target: Target
    pod: Body
    node: Body
    claim: Body

    @staticmethod
    def planned(cluster: Cluster, target: Target) -> "FreshNode":
        """Return what would be done.

        Raises:
            RefusedError: others would lose by it, or the pod would find another node.
        """
        refuse_several(target, "fresh-node")
        pod = target.pods[0]
        node = node_of(cluster, pod)
        name = node["metadata"]["name"]
        # a cluster without Karpenter has no such list
        there = (cluster.find(CLAIMS) or {"items": []})["items"]
        claims = [it for it in there if (it.get("status") or {}).get("nodeName") == name]
        if not claims:
            raise RefusedError(f"node {name}: no NodeClaim names it, so Karpenter would make none in its place")
        _refuse_others(cluster, target, name)
        if room := _with_room(cluster, target, name):
            raise RefusedError(
                f"node {room[0]}: has room for the pod, so no node would be made; kubectl cordon {room[0]} (and"
                " uncordon it afterwards), or wait until Karpenter has taken it away"
            )
        return FreshNode(cluster=cluster, target=target, pod=pod, node=node, claim=claims[0])

    @property
    def will(self) -> Sequence[str]:
        """See `Plan`."""
        return [
            f"{self.target.title} is scaled from 1 to 0 and back: pod {self.pod['metadata']['name']} is deleted, and"
            " nobody serves until the new one is ready",
            f"NodeClaim {self.claim['metadata']['name']} is deleted, and with it node {self.node['metadata']['name']}"
            " and all on its disk; Karpenter makes a new one, if EC2 has one",
        ]

    @property
    def overhead(self) -> float:
        """See `Plan`."""
        return grace(self.target) + USUAL

    @property
    def instance(self) -> str | None:
        """See `Plan`."""
        return None

    def provoke(self, back: PutBack, say: Say) -> Before:
        """See `Plan`."""
        node, claim = self.node["metadata"]["name"], self.claim["metadata"]
        promise = comes_back(self.cluster, self.target, back, to=0)
        scaled_down(self.cluster, self.target, say, to=0)
        # its GPU is free: a pod that waited for one may have come
        _refuse_others(self.cluster, self.target, node)
        say(f"waiting for node {node} to go")
        self.cluster.delete(f"{CLAIMS}/{claim['name']}", claim["uid"])
        until(f"node {node} to go", GOING, lambda: self._gone(node, claim["name"]))
        back.keep(promise)
        return Before(pods=self.target.known, node=node)

    def _gone(self, node: str, claim: str) -> bool:
        return self.cluster.find(f"{CLAIMS}/{claim}") is None and self.cluster.find(f"{NODES}/{node}") is None


def refuse_several(target: Target, situation: str) -> None:
    """Refuse what would take all pods of a server away to measure one.

    Raises:
        RefusedError: it has several.
    """
    if target.replicas > 1:
        raise RefusedError(
            f"servers.{target.server.name}.replicas: {target.replicas}; {situation} takes all pods away, and is"
            " measured with 1; restart and wake are measured with several"
        )


def is_open(node: Body) -> bool:
    """Whether a node takes pods: Ready, and not cordoned."""
    ready = {it["type"]: it["status"] for it in (node.get("status") or {}).get("conditions") or ()}.get("Ready")
    return ready == "True" and not node["spec"].get("unschedulable") and "deletionTimestamp" not in node["metadata"]


def _refuse_others(cluster: Cluster, target: Target, node: str) -> None:
    if others := _others(cluster, target, node):
        raise RefusedError(f"node {node}: other pods would go with it: {', '.join(others)}")


def _others(cluster: Cluster, target: Target, node: str) -> list[str]:
    """Return pods on a node that are neither the server's nor of those that run on every node."""
    its = target.deployment["spec"]["selector"]["matchLabels"].items()
    return [
        f"{pod['metadata']['namespace']}/{pod['metadata']['name']}"
        for pod in cluster.list(PODS, fieldSelector=f"spec.nodeName={node}")
        if pod["status"].get("phase") not in {"Succeeded", "Failed"}
        and not any(it["kind"] in {"DaemonSet", "Node"} for it in pod["metadata"].get("ownerReferences") or ())
        and not its <= (pod["metadata"].get("labels") or {}).items()
        and not gives_way(pod, target.server.settings.pool)
    ]


def _with_room(cluster: Cluster, target: Target, node: str) -> list[str]:
    """Return the pool's other nodes that would take the pod."""
    nodes = cluster.list(NODES, labelSelector=f"{POOL_LABEL}={target.server.settings.pool}")
    others = [it for it in nodes if it["metadata"]["name"] != node and is_open(it)]
    if not others:
        return []
    running = [it for it in pods(cluster) if not gives_way(it, target.server.settings.pool)]
    found = []
    for other in others:
        name = other["metadata"]["name"]
        used = sum(gpus(it["spec"]) for it in running if it["spec"].get("nodeName") == name)
        if used + target.server.settings.engine.tensor_parallel <= int(
            other["status"]["allocatable"].get(GPU_RESOURCE, 0)
        ):
            found.append(name)
    return found
