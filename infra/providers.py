"""The two providers, made once at the top and inherited. The stack files switch the default ones off."""

from collections.abc import Mapping

import pulumi
import pulumi_aws
import pulumi_kubernetes

from infra.cluster.cluster import Cluster
from infra.image_cache.image_cache import ImageCache


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
