"""EKS, and what EKS asks of whoever makes its node groups."""

from ops.rights.table.row import Row

_TAGS = ("eks:TagResource", "eks:UntagResource")

ROWS: dict[str, Row] = {
    "aws:eks/cluster:Cluster": Row(
        on="cluster",
        look=(
            "eks:DescribeCluster",
            "eks:DescribeUpdate",
            "eks:ListTagsForResource",
            "ec2:DescribeSubnets",
            "ec2:DescribeVpcs",
        ),
        make=("eks:CreateCluster",),
        change=("eks:DeleteCluster", "eks:UpdateClusterConfig", "eks:UpdateClusterVersion", *_TAGS),
    ),
    "aws:eks/nodeGroup:NodeGroup": Row(
        on="cluster",
        look=(
            *("eks:DescribeNodegroup", "eks:ListUpdates", "ec2:DescribeSubnets", "ec2:DescribeVpcs"),
            *("ec2:DescribeSecurityGroups", "ec2:DescribeRouteTables", "ec2:DescribeLaunchTemplates"),
            "ec2:DescribeLaunchTemplateVersions",
        ),
        change=(
            *("eks:CreateNodegroup", "eks:DeleteNodegroup", "eks:UpdateNodegroupConfig", "eks:UpdateNodegroupVersion"),
            *_TAGS,
        ),
    ),
    "aws:eks/addon:Addon": Row(
        on="cluster",
        look=("eks:DescribeAddon", "eks:DescribeUpdate"),
        change=("eks:CreateAddon", "eks:DeleteAddon", "eks:UpdateAddon", *_TAGS),
    ),
    "aws:eks/accessEntry:AccessEntry": Row(
        on="cluster",
        look=("eks:DescribeAccessEntry", "eks:ListAssociatedAccessPolicies"),
        change=("eks:CreateAccessEntry", "eks:DeleteAccessEntry", "eks:UpdateAccessEntry", *_TAGS),
    ),
    "aws:eks/accessPolicyAssociation:AccessPolicyAssociation": Row(
        on="cluster",
        look=("eks:ListAssociatedAccessPolicies",),
        change=("eks:AssociateAccessPolicy", "eks:DisassociateAccessPolicy"),
    ),
    "aws:eks/podIdentityAssociation:PodIdentityAssociation": Row(
        on="cluster",
        look=("eks:DescribePodIdentityAssociation", "eks:ListPodIdentityAssociations"),
        change=(
            *("eks:CreatePodIdentityAssociation", "eks:DeletePodIdentityAssociation"),
            *("eks:UpdatePodIdentityAssociation", *_TAGS),
        ),
    ),
}
