"""What Karpenter's controller may do: six policies, statement by statement those of its CloudFormation template.

Source: `cloudformation.yaml` of karpenter.sh/v1.14/getting-started/getting-started-with-karpenter, and for what 1.15
adds its documentation. All statements in one policy would be more than IAM takes (karpenter-provider-aws#7874). Tags
of the cluster fence off what else is in the account.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pulumi

from infra.iam import Statement
from infra.naming import Place

LAUNCH = ("ec2:RunInstances", "ec2:CreateFleet")
CREATE_TAGS = "ec2:CreateTags"

READ_BY_LAUNCH = ("security-group", "subnet", "capacity-reservation", "placement-group")
"""What a launch names and does not make: without tags of the cluster."""

MADE_BY_LAUNCH = ("fleet", "instance", "volume", "network-interface", "launch-template", "spot-instances-request")
"""What a launch makes, tagged in the same request."""

NODE_POOL_TAG = "karpenter.sh/nodepool"
NODE_CLASS_TAG = "karpenter.k8s.aws/ec2nodeclass"
CLUSTER_NAME_TAG = "eks:eks-cluster-name"
REGION_TAG = "topology.kubernetes.io/region"

WITH_REBOOT = "1.15"
"""The first release that may reboot a node in place of replacing it."""


@dataclass(frozen=True, kw_only=True)
class Scope:
    """The one cluster that a controller works for."""

    place: Place
    cluster: str
    """Its name."""

    @property
    def cluster_tag(self) -> str:
        """The tag of everything that the controller makes; its value is `owned`."""
        return f"kubernetes.io/cluster/{self.cluster}"

    def ec2(self, *kinds: str) -> list[str]:
        """Return the ARNs of every resource of these kinds in the account."""
        return [self.place.partition.arn("ec2", f"{kind}/*", region=self.place.region, account="*") for kind in kinds]

    def instance_profiles(self) -> str:
        """Return the ARN of every instance profile of the account."""
        return self.place.partition.arn("iam", "instance-profile/*", account=self.place.account)

    def cluster_arn(self) -> str:
        """Return the ARN of the cluster."""
        return self.place.arn("eks", f"cluster/{self.cluster}")


def controller_policies(
    scope: Scope, *, release: str, node_role_arn: pulumi.Input[str], queue_arn: pulumi.Input[str]
) -> Mapping[str, Sequence[Statement]]:
    """Return the controller's policies by name.

    Args:
        scope: the cluster.
        release: minor release of Karpenter, for example 1.14.
        node_role_arn: of the role that the controller gives to its nodes.
        queue_arn: of the queue with the notices of interruptions.
    """
    return {
        "node-lifecycle": node_lifecycle(scope, release),
        "iam-integration": iam_integration(scope, node_role_arn),
        "eks-integration": eks_integration(scope),
        "interruption": interruption(queue_arn),
        "zonal-shift": zonal_shift(scope),
        "resource-discovery": resource_discovery(scope),
    }


def node_lifecycle(scope: Scope, release: str) -> tuple[Statement, ...]:
    """Launch, tag and end instances, of this cluster only."""
    public = [
        scope.place.partition.arn("ec2", f"{kind}/*", region=scope.place.region) for kind in ("image", "snapshot")
    ]
    ends = ["ec2:TerminateInstances", "ec2:DeleteLaunchTemplate"]
    if numbers(release) >= numbers(WITH_REBOOT):
        ends.append("ec2:RebootInstances")
    of_this_cluster = {
        "StringEquals": {_existing(scope.cluster_tag): "owned"},
        "StringLike": {_existing(NODE_POOL_TAG): "*"},
    }
    tagged_on_the_way = {_requested(scope.cluster_tag): "owned", _requested(CLUSTER_NAME_TAG): scope.cluster}
    for_a_pool = {_requested(NODE_POOL_TAG): "*"}
    return (
        _allow("AllowScopedEC2InstanceAccessActions", LAUNCH, [*public, *scope.ec2(*READ_BY_LAUNCH)]),
        _allow(
            "AllowScopedEC2LaunchTemplateAccessActions",
            LAUNCH,
            scope.ec2("launch-template"),
            of_this_cluster,
        ),
        _allow(
            "AllowScopedEC2InstanceActionsWithTags",
            [*LAUNCH, "ec2:CreateLaunchTemplate"],
            scope.ec2(*MADE_BY_LAUNCH),
            {"StringEquals": tagged_on_the_way, "StringLike": for_a_pool},
        ),
        _allow(
            "AllowScopedResourceCreationTagging",
            [CREATE_TAGS],
            scope.ec2(*MADE_BY_LAUNCH),
            {
                "StringEquals": {
                    **tagged_on_the_way,
                    "ec2:CreateAction": ["RunInstances", "CreateFleet", "CreateLaunchTemplate"],
                },
                "StringLike": for_a_pool,
            },
        ),
        _allow(
            "AllowScopedResourceTagging",
            [CREATE_TAGS],
            scope.ec2("instance"),
            {
                **of_this_cluster,
                "StringEqualsIfExists": {_requested(CLUSTER_NAME_TAG): scope.cluster},
                "ForAllValues:StringEquals": {"aws:TagKeys": [CLUSTER_NAME_TAG, "karpenter.sh/nodeclaim", "Name"]},
            },
        ),
        _allow("AllowScopedDeletion", ends, scope.ec2("instance", "launch-template"), of_this_cluster),
    )


def iam_integration(scope: Scope, node_role_arn: pulumi.Input[str]) -> tuple[Statement, ...]:
    """Keep instance profiles of this cluster and region, and pass the nodes' role, no other."""
    regional = {_existing(scope.cluster_tag): "owned", _existing(REGION_TAG): scope.place.region}
    tagged_on_the_way = {
        _requested(scope.cluster_tag): "owned",
        _requested(CLUSTER_NAME_TAG): scope.cluster,
        _requested(REGION_TAG): scope.place.region,
    }
    of_a_class, for_a_class = {_existing(NODE_CLASS_TAG): "*"}, {_requested(NODE_CLASS_TAG): "*"}
    return (
        _allow(
            "AllowPassingInstanceRole",
            ["iam:PassRole"],
            [node_role_arn],
            # both names of the service, whatever the partition
            {"StringEquals": {"iam:PassedToService": ["ec2.amazonaws.com", "ec2.amazonaws.com.cn"]}},
        ),
        _allow(
            "AllowScopedInstanceProfileCreationActions",
            ["iam:CreateInstanceProfile"],
            [scope.instance_profiles()],
            {"StringEquals": tagged_on_the_way, "StringLike": for_a_class},
        ),
        _allow(
            "AllowScopedInstanceProfileTagActions",
            ["iam:TagInstanceProfile"],
            [scope.instance_profiles()],
            {"StringEquals": {**regional, **tagged_on_the_way}, "StringLike": {**of_a_class, **for_a_class}},
        ),
        _allow(
            "AllowScopedInstanceProfileActions",
            ["iam:AddRoleToInstanceProfile", "iam:RemoveRoleFromInstanceProfile", "iam:DeleteInstanceProfile"],
            [scope.instance_profiles()],
            {"StringEquals": regional, "StringLike": of_a_class},
        ),
    )


def eks_integration(scope: Scope) -> tuple[Statement, ...]:
    """Find the API server's endpoint."""
    return (_allow("AllowAPIServerEndpointDiscovery", ["eks:DescribeCluster"], [scope.cluster_arn()]),)


def interruption(queue_arn: pulumi.Input[str]) -> tuple[Statement, ...]:
    """Take notices off the queue."""
    actions = ["sqs:DeleteMessage", "sqs:GetQueueUrl", "sqs:ReceiveMessage"]
    return (_allow("AllowInterruptionQueueActions", actions, [queue_arn]),)


def zonal_shift(scope: Scope) -> tuple[Statement, ...]:
    """Ask whether a zone of the cluster is shifted away."""
    return (
        _allow(
            "AllowZonalShiftStatusReadOnly",
            ["arc-zonal-shift:GetManagedResource"],
            ["*"],
            {"StringEquals": {"arc-zonal-shift:ResourceIdentifier": scope.cluster_arn()}},
        ),
    )


def resource_discovery(scope: Scope) -> tuple[Statement, ...]:
    """Read what instances there are, what they cost, and what they start from."""
    seen = (
        *("CapacityReservations", "Images", "Instances", "InstanceStatus", "InstanceTypeOfferings", "InstanceTypes"),
        *("LaunchTemplates", "PlacementGroups", "SecurityGroups", "SpotPriceHistory", "Subnets"),
    )
    return (
        _allow(
            "AllowRegionalReadActions",
            [f"ec2:Describe{kind}" for kind in seen],
            ["*"],
            {"StringEquals": {"aws:RequestedRegion": scope.place.region}},
        ),
        _allow(
            "AllowSSMReadActions",
            ["ssm:GetParameter"],
            [scope.place.partition.arn("ssm", "parameter/aws/service/*", region=scope.place.region)],
        ),
        _allow("AllowPricingReadActions", ["pricing:GetProducts"], ["*"]),
        # without it a node class is never deleted (karpenter-provider-aws#9185)
        _allow("AllowUnscopedInstanceProfileListAction", ["iam:ListInstanceProfiles"], ["*"]),
        _allow("AllowInstanceProfileReadActions", ["iam:GetInstanceProfile"], [scope.instance_profiles()]),
    )


def _allow(
    sid: str,
    actions: Sequence[str],
    resources: Sequence[pulumi.Input[str]],
    condition: Mapping[str, object] | None = None,
) -> Statement:
    statement = {"Sid": sid, "Effect": "Allow", "Action": list(actions), "Resource": list(resources)}
    return {**statement, "Condition": condition} if condition else statement


def _existing(tag: str) -> str:
    return f"aws:ResourceTag/{tag}"


def _requested(tag: str) -> str:
    return f"aws:RequestTag/{tag}"


def numbers(version: str) -> tuple[int, ...]:
    """Return what orders versions of Karpenter, and of Kubernetes: 1.9 comes before 1.14."""
    return tuple(int(number) for number in version.split("."))
