"""Rules for networks. Sources in brackets: `table.py`."""

from __future__ import annotations

from rehearsal.providers.aws.change.rules import Rule
from rehearsal.providers.change.compare import Difference

_APPEARS_OR_GOES = (Difference.ADD, Difference.DELETE)
# An existing rule may get other values, but not another kind of source: ModifyPlan in
# ec2/vpc_security_group_ingress_rule.go [tf]. CloudFormation replaces a rule at every change.
_GROUP_RULE = Rule(
    replaces=("securityGroupId",),
    replaces_when=dict.fromkeys(
        ("cidrIpv4", "cidrIpv6", "prefixListId", "referencedSecurityGroupId"), _APPEARS_OR_GOES
    ),
)

RULES: dict[str, Rule] = {
    "aws:ec2/vpc:Vpc": Rule(
        schema="AWS::EC2::VPC",
        names={"VpcEncryptionControl": None},
        replaces=("instanceTenancy",),  # memory
        keeps=("cidrBlock", "enableDnsHostnames"),  # tf
        defaults={"enableDnsSupport": True, "instanceTenancy": "default"},  # tf
    ),
    "aws:ec2/subnet:Subnet": Rule(
        schema="AWS::EC2::Subnet",
        keeps=("availabilityZone", "availabilityZoneId", "cidrBlock", "ipv6CidrBlock"),  # tf
        defaults={"assignIpv6AddressOnCreation": False, "ipv6Native": False, "mapPublicIpOnLaunch": False},  # tf
    ),
    # detached from one VPC and attached to the other [memory]
    "aws:ec2/internetGateway:InternetGateway": Rule(schema="AWS::EC2::InternetGateway", keeps=("vpcId",)),
    "aws:ec2/eip:Eip": Rule(
        schema="AWS::EC2::EIP",
        names={"TransferAddress": None},
        replaces=("domain", "publicIpv4Pool"),  # tf
        keeps=("domain", "ipamPoolId", "networkBorderGroup", "publicIpv4Pool"),  # tf
    ),
    "aws:ec2/natGateway:NatGateway": Rule(
        schema="AWS::EC2::NatGateway",
        names={"PrivateIpAddress": "privateIp"},
        replaces=("secondaryPrivateIpAddressCount",),  # tf
        sets=("secondaryAllocationIds", "secondaryPrivateIpAddresses"),  # tf
        keeps=("privateIp", "secondaryPrivateIpAddressCount", "secondaryPrivateIpAddresses"),  # tf
        defaults={"connectivityType": "public"},  # tf
    ),
    "aws:ec2/routeTable:RouteTable": Rule(
        schema="AWS::EC2::RouteTable",
        sets=("propagatingVgws", "routes"),  # memory
        keeps=("propagatingVgws", "routes"),  # memory
    ),
    "aws:ec2/route:Route": Rule(schema="AWS::EC2::Route"),
    "aws:ec2/routeTableAssociation:RouteTableAssociation": Rule(
        schema="AWS::EC2::SubnetRouteTableAssociation",
        replaces=("gatewayId",),  # tf
        updates=("routeTableId",),  # ReplaceRouteTableAssociation [tf]
    ),
    "aws:ec2/vpcEndpoint:VpcEndpoint": Rule(
        schema="AWS::EC2::VPCEndpoint",
        sets=("routeTableIds", "securityGroupIds", "subnetIds", "dnsOptions.privateDnsSpecifiedDomains"),  # tf
        keeps=(
            *("dnsOptions", "ipAddressType", "policy", "privateDnsEnabled"),  # tf
            *("routeTableIds", "securityGroupIds", "serviceRegion", "subnetConfigurations", "subnetIds"),  # tf
        ),
        defaults={"vpcEndpointType": "Gateway"},  # tf
    ),
    "aws:ec2/securityGroup:SecurityGroup": Rule(
        schema="AWS::EC2::SecurityGroup",
        names={"GroupDescription": "description", "GroupName": "name"},
        replaces=("namePrefix",),  # memory
        sets=("egress", "ingress"),  # memory
        keeps=("egress", "ingress", "vpcId"),  # memory
        defaults={"description": "Managed by Pulumi"},  # pulumi
    ),
    "aws:ec2/defaultSecurityGroup:DefaultSecurityGroup": Rule(
        replaces=("vpcId",),  # tf
        sets=("egress", "ingress"),  # tf
        keeps=("vpcId",),  # tf
    ),
    "aws:vpc/securityGroupIngressRule:SecurityGroupIngressRule": _GROUP_RULE,
    "aws:vpc/securityGroupEgressRule:SecurityGroupEgressRule": _GROUP_RULE,
}
