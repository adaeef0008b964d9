"""restart: the pod comes again on the node where it ran.

By the Deployment's scale and not by deleting the pod: its successor would be made at once and wait for the GPUs of the
pod that drains, and Karpenter makes a node for a pod that waits.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from ops.cluster.api import Body, Cluster
from ops.coldstart.measure.provoke import Before, Say, grace, instance_of, node_of, scaled_down, uids
from ops.coldstart.measure.put_back import PutBack
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
        metadata = self.pod["metadata"]
        if self.target.replicas > 1:
            path = f"/api/v1/namespaces/{self.target.namespace}/pods/{metadata['name']}"
            # it goes with the pod: nothing to put back unless the scaling does not come
            self.cluster.merge(path, {"metadata": {"annotations": {DELETION_COST: FIRST_TO_GO}}})
        back.keep(scaled_down(self.cluster, self.target, back, say, to=self.target.replicas - 1))
        return Before(pods=uids(self.target.pods), node=self.node["metadata"]["name"])
