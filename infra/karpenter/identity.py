"""Everything of Karpenter that lives in AWS: who its controller is, who its nodes are, and the queue between.

A component of its own beside the charts. The SDK registers a component's children when each of its providers exists,
and the Kubernetes one waits for the system nodes: an association that came so late would come after pods that need it.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import pulumi

from infra.iam import Statement
from infra.karpenter.interruption import InterruptionQueue, InterruptionQueueArgs
from infra.karpenter.node_identity import NodeIdentity, NodeIdentityArgs
from infra.karpenter.policies import Scope, controller_policies
from infra.naming import KARPENTER_NAMESPACE, KARPENTER_SERVICE_ACCOUNT
from infra.pod_identity import PodIdentity, PodIdentityArgs


@dataclass(frozen=True, kw_only=True)
class KarpenterIdentityArgs:
    """Plain values, and the control plane's name."""

    scope: Scope
    """The cluster as text: what the policies and the queue are called after it is known before it exists."""
    release: str
    """Minor release of Karpenter: it decides what the controller may do."""
    cluster_name: pulumi.Input[str]
    """An output of the cluster: what needs only the control plane does not wait for nodes."""
    node_statements: Sequence[Statement]
    """Rights of the nodes beyond AWS's own policies; may be empty."""


class KarpenterIdentity(pulumi.ComponentResource):
    """Controller, nodes and queue. Nothing in it waits for nodes."""

    node_role_name: pulumi.Output[str]
    """What an EC2NodeClass is given."""
    node_role_arn: pulumi.Output[str]
    queue_name: pulumi.Output[str]

    def __init__(self, name: str, args: KarpenterIdentityArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("vllm-eks:infra:KarpenterIdentity", name, None, opts)
        child = pulumi.ResourceOptions(parent=self)
        scope = args.scope

        nodes = NodeIdentity(
            f"{name}-nodes",
            NodeIdentityArgs(
                cluster_name=args.cluster_name,
                place=scope.place,
                statements=args.node_statements,
            ),
            child,
        )
        queue = InterruptionQueue(
            f"{name}-interruption",
            InterruptionQueueArgs(cluster_name=scope.cluster, place=scope.place),
            child,
        )
        PodIdentity(
            f"{name}-controller",
            PodIdentityArgs(
                cluster_name=args.cluster_name,
                namespace=KARPENTER_NAMESPACE,
                service_account=KARPENTER_SERVICE_ACCOUNT,
                policies=controller_policies(
                    scope, release=args.release, node_role_arn=nodes.role_arn, queue_arn=queue.arn
                ),
            ),
            child,
        )

        self.node_role_name, self.node_role_arn = nodes.role_name, nodes.role_arn
        self.queue_name = queue.name
        self.register_outputs({"nodeRoleName": self.node_role_name, "queueName": self.queue_name})
