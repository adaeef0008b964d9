"""restart: the pod comes again on the node where it ran.

By the Deployment's scale and not by deleting the pod: its successor would be made at once and wait for the GPUs of the
pod that drains, and Karpenter makes a node for a pod that waits.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from ops.cluster.api import Body, Cluster
from ops.coldstart.measure.provoke import Before, Say, comes_back, grace, instance_of, node_of, scaled_down
from ops.coldstart.measure.put_back import Promise, PutBack
from ops.coldstart.measure.target import Target

DELETION_COST = "controller.kubernetes.io/pod-deletion-cost"
"""Annotation by which a ReplicaSet chooses the pod that goes (Kubernetes: ReplicaSet, Pod deletion cost)."""
FIRST_TO_GO = "-1000000"


@dataclass(frozen=True, kw_only=True)
class Restart:
    """Of the newest pod."""

    cluster: Cluster
    target: Target
    pod: Body
    node: Body

    @staticmethod
    def planned(cluster: Cluster, target: Target) -> "Restart":
        """Return what would be done. It may always be done."""
        pod = target.pods[-1]
        return Restart(cluster=cluster, target=target, pod=pod, node=node_of(cluster, pod))

    @property
    def will(self) -> Sequence[str]:
        """See `Plan`."""
        count = self.target.replicas
        return [
            f"{self.target.title} is scaled from {count} to {count - 1} and back: pod {self.pod['metadata']['name']}"
            f" is deleted on node {self.node['metadata']['name']}, which stays"
        ]

    @property
    def overhead(self) -> float:
        """See `Plan`."""
        return grace(self.target)

    @property
    def instance(self) -> str | None:
        """See `Plan`."""
        return instance_of(self.node)

    def provoke(self, back: PutBack, say: Say) -> Before:
        """See `Plan`."""
        left = self.target.replicas - 1
        # put back last: until then the pod is the one to go
        chosen = self._chosen(back) if left else None
        promise = comes_back(self.cluster, self.target, back, to=left)
        scaled_down(self.cluster, self.target, say, to=left)
        back.keep(promise)
        # if another pod went after all, this one must not go next
        lent = [chosen] if chosen else []
        return Before(pods=self.target.known, node=self.node["metadata"]["name"], lent=lent)

    def _chosen(self, back: PutBack) -> Promise:
        metadata, namespace = self.pod["metadata"], self.target.namespace
        name, path = metadata["name"], f"/api/v1/namespaces/{namespace}/pods/{metadata['name']}"
        before = (metadata.get("annotations") or {}).get(DELETION_COST)

        def cost(value: str | None) -> None:
            if self.cluster.find(path):
                self.cluster.merge(path, {"metadata": {"annotations": {DELETION_COST: value}}})

        by_hand = f"{DELETION_COST}={before} --overwrite" if before else f"{DELETION_COST}-"
        promise = back.promise(
            f"pod {name} as likely to go as before",
            f"kubectl -n {namespace} annotate pod {name} {by_hand}",
            lambda: cost(before),
        )
        cost(FIRST_TO_GO)
        return promise
