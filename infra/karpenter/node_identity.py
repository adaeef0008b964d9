"""Who Karpenter's nodes are: a role that no other nodes have, and the right to join the cluster with it."""

from collections.abc import Sequence
from dataclasses import dataclass

import pulumi
from pulumi_aws import eks

from infra.iam import Statement
from infra.naming import Place
from infra.node_role import node_role


@dataclass(frozen=True, kw_only=True)
class NodeIdentityArgs:
    """Plain values and the control plane's name."""

    cluster_name: pulumi.Input[str]
    """An output of the cluster: the entry needs the control plane."""
    place: Place
    statements: Sequence[Statement]
    """Rights beyond AWS's own policies, for example to fill an image cache; may be empty."""


class NodeIdentity(pulumi.ComponentResource):
    """Role and access entry. EKS makes the entry of a managed node group itself: a shared role would answer 409."""

    role_name: pulumi.Output[str]
    """What an EC2NodeClass is given: a name, not an ARN."""
    role_arn: pulumi.Output[str]

    def __init__(self, name: str, args: NodeIdentityArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("vllm-eks:infra:NodeIdentity", name, None, opts)

        role, rights = node_role(
            name,
            description="Nodes that Karpenter starts",
            partition=args.place.partition,
            statements=args.statements,
            opts=pulumi.ResourceOptions(parent=self),
        )
        # made from the name, so that a preview shows every policy that names the role
        arn = pulumi.Output.concat(args.place.partition.arn("iam", "role/", account=args.place.account), role.name)
        eks.AccessEntry(
            name,
            cluster_name=args.cluster_name,
            principal_arn=arn,
            type="EC2_LINUX",
            opts=pulumi.ResourceOptions(
                parent=self,
                depends_on=rights,
                # EKS binds an entry to the id of the role that there was: one of the same name that is made again is
                # somebody else, and its nodes never join (aws.md 0.27)
                replacement_trigger=role.unique_id,
                # a cluster takes one entry for a name
                delete_before_replace=True,
            ),
        )

        self.role_name, self.role_arn = role.name, arn
        self.register_outputs({"roleName": self.role_name, "roleArn": self.role_arn})
