"""warm-node: a node waits that has nothing of the server: a pause pod has brought it, and makes room for the pod.

A node of the pool that is there already may have the image and the cache of an earlier pod on its disk, which the API
does not show. So one is made.
"""

import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from infra.gpu_pools import GPU_RESOURCE, POOL_LABEL
from infra.gpu_pools.warm_nodes import PAUSE_IMAGE, deployment
from infra.image_cache.rewrite import image_cache_facts, rewritten
from infra.naming import Place, partition_of
from infra.priorities import WARM_NODES
from ops.cluster.api import Body, Cluster
from ops.coldstart.measure.announce import expected_seconds, slowest
from ops.coldstart.measure.provoke import (
    NODES,
    Before,
    Say,
    comes_back,
    grace,
    node_of,
    scaled_down,
    until,
)
from ops.coldstart.measure.provoke.fresh_node import is_open, refuse_several
from ops.coldstart.measure.put_back import Promise, PutBack
from ops.coldstart.measure.target import Target
from ops.failures import RefusedError
from serving.engine import NODE_LIMIT, PULL_LIMIT
from serving.pod import CONTAINER
from serving.server.demand import pool_demand

PREPULL = "image-prepull"

MEASUREMENT = "vllm-eks/measurement"
"""Annotation of a pause pod: which run made it."""


@dataclass(frozen=True, kw_only=True)
class WarmNode:
    """A second node of the pool."""

    cluster: Cluster
    target: Target
    pod: Body
    node: Body
    open: Sequence[str]
    """Names of the pool's nodes that take pods now."""
    holder: str
    """Name of the pause pod."""

    @staticmethod
    def planned(cluster: Cluster, target: Target) -> "WarmNode":
        """Return what would be done.

        Raises:
            RefusedError: the pool's limit has no room for another node.
        """
        refuse_several(target, "warm-node")
        name, pool = target.server.settings.pool, target.server.situation.pool
        pod, holder = target.pods[0], f"{target.server.name}-coldstart-holder"
        if cluster.find(f"/api/v1/namespaces/{target.namespace}/pods/{holder}"):
            raise RefusedError(
                f"pod {target.namespace}/{holder}: of another measurement, which runs or was killed; after it: kubectl"
                f" -n {target.namespace} delete pod {holder}"
            )
        if pool.capacity.static:
            raise RefusedError(
                f"gpuPools.{name}.capacity: static: Karpenter makes no node for a pod there, and what lies on those"
                " that stand nobody can see"
            )
        nodes = cluster.list(NODES, labelSelector=f"{POOL_LABEL}={name}")
        has = sum(int((it.get("status") or {}).get("capacity", {}).get(GPU_RESOURCE, 0)) for it in nodes)
        one = min(kind.gpus for kind in pool.types)
        if has + one > pool.max_gpus:
            raise RefusedError(
                f"gpuPools.{name}.maxGpus: {has} on {len(nodes)} nodes + {one} of a node that waits = {has + one} >"
                f" {pool.max_gpus}: raise it, or wait until Karpenter has taken empty nodes away"
            )
        return WarmNode(
            cluster=cluster,
            target=target,
            pod=pod,
            node=node_of(cluster, pod),
            open=[it["metadata"]["name"] for it in nodes if is_open(it)],
            holder=holder,
        )

    @property
    def will(self) -> Sequence[str]:
        """See `Plan`."""
        return [
            *([f"nodes {', '.join(self.open)} are cordoned until the new pod has a node"] if self.open else []),
            f"pod {self.target.namespace}/{self.holder} is made, for which Karpenter makes a node; it goes when that is"
            " ready",
            f"{self.target.title} is scaled from 1 to 0 and back: pod {self.pod['metadata']['name']} is deleted on node"
            f" {self.node['metadata']['name']}, which costs until Karpenter has taken it away (consolidateAfter"
            f" {self.target.server.situation.pool.consolidate_after})",
        ]

    @property
    def overhead(self) -> float:
        """See `Plan`."""
        kind, _ = slowest(self.target, "fresh node")
        node = expected_seconds(self.target, "fresh node", kind) - expected_seconds(self.target, "warm node", kind)
        return grace(self.target) + max(node, 0.0)

    @property
    def instance(self) -> str | None:
        """See `Plan`."""
        return None

    def provoke(self, back: PutBack, say: Say) -> Before:
        """See `Plan`."""
        # put back last: the pod finds its old node open again, and no pause pod in its way
        promise = comes_back(self.cluster, self.target, back, to=0)
        lent = [self._cordoned(name, back) for name in self.open]
        holder = self._holder(back)
        say("waiting for a node for the pause pod")
        until("a node for the pause pod", NODE_LIMIT, self._stands)
        if PREPULL in self.target.server.situation.pool.techniques:
            say("waiting for the node to have the image")
            until("the node to have the engine's image", PULL_LIMIT, self._has_image)
        scaled_down(self.cluster, self.target, say, to=0)
        back.keep(holder)
        until("the pause pod to go", 60, lambda: self.cluster.find(self._path) is None)
        back.keep(promise)
        return Before(pods=self.target.known, node=self.node["metadata"]["name"], lent=lent)

    @property
    def _path(self) -> str:
        return f"/api/v1/namespaces/{self.target.namespace}/pods/{self.holder}"

    def _cordoned(self, name: str, back: PutBack) -> Promise:
        def cordon(*, closed: bool) -> None:
            # null takes the field away, as it was
            if self.cluster.find(f"{NODES}/{name}") is not None:
                self.cluster.merge(f"{NODES}/{name}", {"spec": {"unschedulable": True if closed else None}})

        promise = back.promise(f"node {name} takes pods", f"kubectl uncordon {name}", lambda: cordon(closed=False))
        cordon(closed=True)
        return promise

    def _holder(self, back: PutBack) -> Promise:
        mine = uuid.uuid4().hex

        def go() -> None:
            # who finds it there has not made it: it is another's
            found = self.cluster.find(self._path)
            if found and (found["metadata"].get("annotations") or {}).get(MEASUREMENT) == mine:
                self.cluster.delete(self._path, found["metadata"]["uid"])

        namespace = self.target.namespace
        promise = back.promise(
            f"no pod {namespace}/{self.holder}", f"kubectl -n {namespace} delete pod {self.holder}", go
        )
        self.cluster.create(f"/api/v1/namespaces/{namespace}/pods", pause_pod(self.target, self.holder, mine))
        return promise

    def _stands(self) -> bool:
        found = self.cluster.find(self._path)
        name = found["spec"].get("nodeName") if found else None
        node = self.cluster.find(f"{NODES}/{name}") if name else None
        return bool(node and is_open(node) and found and found["status"].get("phase") == "Running")

    def _has_image(self) -> bool:
        containers = self.pod["spec"]["containers"]
        image = next(it["image"] for it in containers if it["name"] == CONTAINER)
        found = self.cluster.find(self._path) or {"spec": {}}
        node = self.cluster.find(f"{NODES}/{found['spec'].get('nodeName')}") or {}
        # kubelet names them as nodes spell them, with a host before those of Docker Hub
        names = [it for each in (node.get("status") or {}).get("images") or () for it in each.get("names") or ()]
        return any(it == image or it.endswith(f"/{image}") for it in names)


def pause_pod(target: Target, name: str, measurement: str) -> Body:
    """Return a pod of the pool's pause pods' kind, as large as the server, on a node of its own."""
    stack, pool = target.server.stack, target.server.settings.pool
    place = Place(partition_of(stack.region), stack.region, stack.settings.account.id)
    image = rewritten(PAUSE_IMAGE, image_cache_facts(stack.settings.image_cache, place))
    size = pool_demand(pool, {target.server.name: target.server.settings})[target.server.name].each
    template: dict[str, Any] = deployment(pool, target.server.situation.pool, size, image, WARM_NODES)["template"]
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {**template["metadata"], "name": name, "annotations": {MEASUREMENT: measurement}},
        "spec": template["spec"],
    }
