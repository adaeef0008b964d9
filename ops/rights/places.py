"""The ARNs of a stack, as far as they are known before it exists. The engine ends auto-names with a random part."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from infra.image_cache.image_cache import SECRET_FOLDER
from infra.naming import (
    Place,
    interruption_queue,
    onboarding_path,
    partition_of,
    publisher_path,
    server_service_account,
)
from infra.node_role import NODE_POLICIES
from ops.stack.stack_file import Stack

ROLES = ("cluster-eksRole-role", "cluster-system", "karpenter-nodes", "karpenter-controller", "mountpoint-reader")
"""Logical names in `__main__.py` and below it; a test compares them with what an `up` makes."""

EC2 = (
    *("vpc", "subnet", "internet-gateway", "elastic-ip", "natgateway", "route-table", "vpc-endpoint"),
    *("security-group", "security-group-rule", "launch-template"),
)
"""Types of what the stack makes in EC2. A pattern in the type's own part of an ARN matches nothing (IAM user guide)."""

LAUNCH = ("instance", "volume", "network-interface", "launch-template", "security-group", "subnet")
"""Types that the launch of an instance is about, beside public images."""

POLICIES, RULES = "karpenter-controller", "karpenter-interruption"

CLUSTER_POLICY = "AmazonEKSClusterPolicy"
"""Of AWS, on the role of the control plane (pulumi-eks)."""


@dataclass(frozen=True, kw_only=True)
class Places:
    """Where a stack lives, and what it calls its own."""

    at: Place
    arns: Mapping[str, Sequence[str]]
    """By the subject of a row."""
    passed: Sequence[str]
    """Roles that EKS is given."""
    attached: Sequence[str]
    """Policies that its roles have."""
    tags: Mapping[str, str]
    """On all that can have tags."""


def places(stack: Stack) -> Places:
    """Return those of one stack file."""
    settings = stack.settings
    at = Place(partition_of(stack.region), stack.region, settings.account.id)
    partition, cluster = at.partition, settings.name

    def own(kind: str, *names: str) -> list[str]:
        return [partition.arn("iam", f"{kind}/{name}", account=at.account) for name in names]

    servers = [f"{server_service_account(name)}-*" for name in settings.servers]
    paths = [f"{path.strip('/')}/*" for path in (publisher_path(cluster), onboarding_path(cluster))]
    roles = own("role", *(f"{name}-*" for name in ROLES), *servers, *paths)
    policies = own("policy", f"{POLICIES}-*")
    of_cluster = ("nodegroup", "addon", "access-entry", "podidentityassociation")
    prefix = settings.image_cache.prefix
    return Places(
        at=at,
        arns={
            "ec2": [at.arn("ec2", f"{it}/*") for it in EC2],
            "launch": [
                *(at.arn("ec2", f"{it}/*") for it in LAUNCH),
                *(partition.arn("ec2", f"{it}/*", region=at.region) for it in ("image", "snapshot")),
            ],
            "cluster": [
                at.arn("eks", f"cluster/{cluster}"),
                *(at.arn("eks", f"{it}/{cluster}/*") for it in of_cluster),
            ],
            "roles": roles,
            "policies": policies,
            "bucket": [partition.arn("s3", settings.model_bucket.name)],
            "repositories": [at.arn("ecr", f"repository/{prefix}/*")],
            "registry": ["*"],
            "secrets": [at.arn("secretsmanager", f"secret:{SECRET_FOLDER}/{prefix}/*")],
            "keys": [at.arn("kms", "key/*")],
            "queue": [at.arn("sqs", interruption_queue(cluster))],
            "rules": [at.arn("events", f"rule/{RULES}-*")],
        },
        passed=roles,
        attached=[*policies, *(partition.managed_policy(it) for it in (*NODE_POLICIES, CLUSTER_POLICY))],
        tags=settings.tags,
    )
