"""The role of a node: what kubelet, the CNI and the agents on it may do, without what only pods need."""

from collections.abc import Sequence

import pulumi
from pulumi_aws import iam

from infra.iam import Statement, document, ec2_trust
from infra.naming import Partition

NODE_POLICIES = (
    "AmazonEKSWorkerNodePolicy",
    "AmazonEKS_CNI_Policy",
    "AmazonEC2ContainerRegistryPullOnly",
    "AmazonSSMManagedInstanceCore",
)


def node_role(
    name: str,
    *,
    description: str,
    partition: Partition,
    statements: Sequence[Statement],
    opts: pulumi.ResourceOptions,
) -> tuple[iam.Role, list[pulumi.Resource]]:
    """Register a node role and its rights.

    Args:
        name: of the role; its rights are called after it.
        description: whose role it is.
        partition: where its policies live.
        statements: rights beyond AWS's own policies; may be none.
        opts: of each resource.

    Returns:
        The role, and what must stand before a node uses it.
    """
    role = iam.Role(name, description=description, assume_role_policy=document(ec2_trust(partition)), opts=opts)
    rights: list[pulumi.Resource] = [
        iam.RolePolicyAttachment(
            f"{name}-{policy}", role=role.name, policy_arn=partition.managed_policy(policy), opts=opts
        )
        for policy in NODE_POLICIES
    ]
    if statements:
        rights.append(iam.RolePolicy(name, role=role.id, policy=document(*statements), opts=opts))
    return role, rights
