"""The account, and its two providers: made at the top and inherited. Stack files switch the default ones off."""

from collections.abc import Mapping
from typing import Annotated

import pulumi
import pulumi_aws
import pulumi_kubernetes
from pydantic import Field, StringConstraints

from infra.cluster.cluster import Cluster
from infra.iam import PrincipalArn
from infra.image_cache.image_cache import ImageCache
from infra.section import Section


class AccountSettings(Section):
    """`account`."""

    id: Annotated[str, StringConstraints(pattern=r"^[0-9]{12}$")] = Field(
        description="the AWS account's 12 digits in quotes"
    )
    deployer: PrincipalArn = Field(
        # EKS makes the creator admin and never moves that: later deployers need an access entry
        description="the ARN of the IAM role or user that runs the first `pulumi up`"
    )


def aws(region: str, account_id: str, tags: Mapping[str, str]) -> pulumi_aws.Provider:
    """Return the AWS provider. It refuses any other account, so a placeholder can never reach a real one."""
    return pulumi_aws.Provider(
        "aws",
        region=region,
        allowed_account_ids=[account_id],
        default_tags={"tags": tags},
    )


def kubernetes(cluster: Cluster, images: ImageCache) -> pulumi_kubernetes.Provider:
    """Return the provider of everything inside the cluster.

    It depends on the whole cluster component and on the rules by which nodes pull images: objects come after them and
    are destroyed before them. Its identity is the endpoint, so that no other change of the cluster replaces it and all
    that it owns (pulumi-eks#207).
    """
    return pulumi_kubernetes.Provider(
        "kubernetes",
        kubeconfig=cluster.kubeconfig,
        cluster_identifier=cluster.endpoint,
        opts=pulumi.ResourceOptions(depends_on=[cluster, images]),
    )
