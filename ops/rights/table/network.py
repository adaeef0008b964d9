"""EC2: the network, and how system nodes start. Every change is bound to the region, and to the stack's tags."""

from ops.rights.table.row import Row

# What the AWS provider asks when it deletes what network interfaces may still stand in (network_interface waits).
_INTERFACES = ("ec2:DescribeNetworkInterfaces",)
_GROUP_RULE = ("ec2:DescribeSecurityGroupRules", "ec2:DescribeSecurityGroups")

ROWS: dict[str, Row] = {
    "aws:ec2/vpc:Vpc": Row(
        on="ec2",
        look=(
            *("ec2:DescribeVpcs", "ec2:DescribeVpcAttribute", "ec2:DescribeNetworkAcls"),
            *("ec2:DescribeSecurityGroups", "ec2:DescribeRouteTables"),
        ),
        make=("ec2:CreateVpc",),
        change=("ec2:DeleteVpc", "ec2:ModifyVpcAttribute"),
    ),
    "aws:ec2/subnet:Subnet": Row(
        on="ec2",
        look=("ec2:DescribeSubnets", "ec2:DescribeNetworkAcls", *_INTERFACES),
        make=("ec2:CreateSubnet",),
        change=("ec2:DeleteSubnet", "ec2:ModifySubnetAttribute"),
    ),
    "aws:ec2/internetGateway:InternetGateway": Row(
        on="ec2",
        look=("ec2:DescribeInternetGateways",),
        make=("ec2:CreateInternetGateway",),
        change=("ec2:DeleteInternetGateway", "ec2:AttachInternetGateway", "ec2:DetachInternetGateway"),
    ),
    "aws:ec2/eip:Eip": Row(
        on="ec2",
        look=("ec2:DescribeAddresses", "ec2:DescribeAddressesAttribute"),
        make=("ec2:AllocateAddress",),
        # NAT gateways let go of theirs when they go
        change=("ec2:ReleaseAddress",),
    ),
    "aws:ec2/natGateway:NatGateway": Row(
        on="ec2",
        look=("ec2:DescribeNatGateways", *_INTERFACES),
        make=("ec2:CreateNatGateway",),
        change=("ec2:DeleteNatGateway",),
    ),
    "aws:ec2/routeTable:RouteTable": Row(
        on="ec2",
        look=("ec2:DescribeRouteTables",),
        make=("ec2:CreateRouteTable",),
        change=("ec2:DeleteRouteTable",),
    ),
    "aws:ec2/route:Route": Row(
        on="ec2",
        look=("ec2:DescribeRouteTables", *_INTERFACES),
        change=("ec2:CreateRoute", "ec2:ReplaceRoute", "ec2:DeleteRoute"),
    ),
    "aws:ec2/routeTableAssociation:RouteTableAssociation": Row(
        on="ec2",
        look=("ec2:DescribeRouteTables", "ec2:DescribeSubnets"),
        change=("ec2:AssociateRouteTable", "ec2:ReplaceRouteTableAssociation", "ec2:DisassociateRouteTable"),
    ),
    "aws:ec2/vpcEndpoint:VpcEndpoint": Row(
        on="ec2",
        look=(
            *("ec2:DescribeVpcEndpoints", "ec2:DescribePrefixLists", "ec2:DescribeVpcEndpointServices"),
            *("ec2:DescribeSubnets", "ec2:DescribeSecurityGroups", "ec2:DescribeVpcs"),
        ),
        make=("ec2:CreateVpcEndpoint",),
        change=("ec2:DeleteVpcEndpoints", "ec2:ModifyVpcEndpoint"),
    ),
    "aws:ec2/securityGroup:SecurityGroup": Row(
        on="ec2",
        look=(*_GROUP_RULE, *_INTERFACES),
        make=("ec2:CreateSecurityGroup",),
        change=(
            *("ec2:DeleteSecurityGroup", "ec2:RevokeSecurityGroupEgress", "ec2:RevokeSecurityGroupIngress"),
            *("ec2:AuthorizeSecurityGroupEgress",),
        ),
    ),
    # a new rule is a resource of its own in this request, and has no tags before: hence `make`
    "aws:vpc/securityGroupIngressRule:SecurityGroupIngressRule": Row(
        on="ec2",
        look=_GROUP_RULE,
        make=("ec2:AuthorizeSecurityGroupIngress",),
        change=("ec2:RevokeSecurityGroupIngress", "ec2:ModifySecurityGroupRules"),
    ),
    "aws:ec2/launchTemplate:LaunchTemplate": Row(
        on="ec2",
        look=("ec2:DescribeLaunchTemplates", "ec2:DescribeLaunchTemplateVersions"),
        make=("ec2:CreateLaunchTemplate",),
        change=("ec2:CreateLaunchTemplateVersion", "ec2:ModifyLaunchTemplate", "ec2:DeleteLaunchTemplate"),
    ),
}

CREATES = (
    *("CreateVpc", "CreateSubnet", "CreateInternetGateway", "AllocateAddress", "CreateNatGateway", "CreateRouteTable"),
    *("CreateVpcEndpoint", "CreateSecurityGroup", "AuthorizeSecurityGroupIngress", "CreateLaunchTemplate"),
)
"""Requests that may tag what they make (`ec2:CreateAction`); any other tagging is of what has the stack's tags."""
