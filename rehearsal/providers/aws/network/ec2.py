"""Networks (`aws.ec2`)."""

from __future__ import annotations

import ipaddress
from typing import Any

from rehearsal.providers.aws.common import account, arn, generated
from rehearsal.providers.change.unique import Clash, Unique
from rehearsal.providers.naming import AutoName
from rehearsal.providers.package import Birth, Kind, Made
from rehearsal.providers.values import Properties


def _vpc(birth: Birth) -> Made:
    identifier = f"vpc-{birth.digits(17)}"
    digits = birth.digits(51)
    return Made(
        id=identifier,
        outputs={
            "arn": arn(birth, "ec2", f"vpc/{identifier}"),
            "ownerId": account(birth.instance),
            "mainRouteTableId": f"rtb-{digits[17:34]}",
            "defaultSecurityGroupId": f"sg-{digits[34:]}",
            "enableDnsSupport": True,
        },
    )


def _subnet(birth: Birth) -> Made:
    identifier = f"subnet-{birth.digits(17)}"
    return Made(
        id=identifier,
        outputs={
            "arn": arn(birth, "ec2", f"subnet/{identifier}"),
            "ownerId": account(birth.instance),
        },
    )


def _address(birth: Birth) -> Made:
    identifier = f"eipalloc-{birth.digits(17)}"
    # 198.18.0.0/15 is reserved for benchmarks: no such address belongs to anybody.
    public = ipaddress.ip_address("198.18.0.0") + int(birth.digits(4), 16)
    return Made(
        id=identifier,
        outputs={
            "arn": arn(birth, "ec2", f"elastic-ip/{identifier}"),
            "allocationId": identifier,
            "publicIp": str(public),
        },
    )


def _nat_gateway(birth: Birth) -> Made:
    identifier = f"nat-{birth.digits(17)}"
    return Made(
        id=identifier,
        outputs={"networkInterfaceId": f"eni-{birth.digits(34)[17:]}", "secondaryPrivateIps": []},
    )


_DESTINATIONS = ("destinationCidrBlock", "destinationIpv6CidrBlock", "destinationPrefixListId")


def _route(birth: Birth) -> Made:
    destination = next((birth.inputs[key] for key in _DESTINATIONS if birth.inputs.get(key)), "")
    identifier = f"r-{birth.inputs['routeTableId']}{destination}"
    return Made(id=identifier, outputs={"state": "active", "origin": "CreateRoute"})


def _association(birth: Birth) -> Made:
    return Made(id=f"rtbassoc-{birth.digits(17)}")


_SERVICE = ["192.0.2.0/24", "198.51.100.0/24"]
"""Addresses of nobody (RFC 5737), in place of those of S3."""


def _endpoint(birth: Birth) -> Made:
    identifier = f"vpce-{birth.digits(17)}"
    outputs: dict[str, Any] = {
        "arn": arn(birth, "ec2", f"vpc-endpoint/{identifier}"),
        "ownerId": account(birth.instance),
        "state": "available",
    }
    if birth.inputs.get("vpcEndpointType", "Gateway") == "Gateway":
        outputs["prefixListId"] = f"pl-{birth.digits(8)}"
        outputs["cidrBlocks"] = _SERVICE
    return Made(id=identifier, outputs=outputs)


def _security_group(birth: Birth) -> Made:
    made = generated("sg", "ec2", "security-group")(birth)
    return Made(id=made.id, outputs={**made.outputs, "ownerId": account(birth.instance)})


def _overlap(new: Properties, existing: Properties) -> bool:
    blocks = [new.get("cidrBlock"), existing.get("cidrBlock")]
    first, second = (ipaddress.ip_network(block) if block else None for block in blocks)
    return first is not None and second is not None and first.overlaps(second)


def _share_a_route_table(new: Properties, existing: Properties) -> bool:
    gateways = all(it.get("vpcEndpointType", "Gateway") == "Gateway" for it in (new, existing))
    return gateways and not set(new.get("routeTableIds") or ()).isdisjoint(existing.get("routeTableIds") or ())


def _both_private(new: Properties, existing: Properties) -> bool:
    return all(it.get("vpcEndpointType") == "Interface" and it.get("privateDnsEnabled") for it in (new, existing))


def _gateway(birth: Birth) -> Made:
    made = generated("igw", "ec2", "internet-gateway")(birth)
    return Made(id=made.id, outputs={**made.outputs, "ownerId": account(birth.instance)})


KINDS = {
    "aws:ec2/vpc:Vpc": Kind(make=_vpc, tagged=True),
    "aws:ec2/subnet:Subnet": Kind(
        make=_subnet,
        tagged=True,
        unique=(
            Unique(
                error="InvalidSubnet.Conflict",
                same=("vpcId",),
                also=Clash(name="an overlapping cidrBlock", test=_overlap),
            ),
        ),
    ),
    "aws:ec2/internetGateway:InternetGateway": Kind(
        make=_gateway, tagged=True, unique=(Unique(error="InvalidParameterValue", same=("vpcId",)),)
    ),
    "aws:ec2/eip:Eip": Kind(make=_address, tagged=True),
    "aws:ec2/natGateway:NatGateway": Kind(
        make=_nat_gateway, tagged=True, unique=(Unique(error="Resource.AlreadyAssociated", same=("allocationId",)),)
    ),
    "aws:ec2/routeTable:RouteTable": Kind(make=generated("rtb", "ec2", "route-table"), tagged=True),
    "aws:ec2/route:Route": Kind(
        make=_route, unique=(Unique(error="RouteAlreadyExists", same=("routeTableId", *_DESTINATIONS)),)
    ),
    "aws:ec2/routeTableAssociation:RouteTableAssociation": Kind(
        make=_association, unique=(Unique(error="Resource.AlreadyAssociated", same=("subnetId", "gatewayId")),)
    ),
    "aws:ec2/vpcEndpoint:VpcEndpoint": Kind(
        make=_endpoint,
        tagged=True,
        unique=(
            Unique(
                error="RouteAlreadyExists",
                same=("vpcId", "serviceName"),
                also=Clash(name="a route table in common", test=_share_a_route_table),
            ),
            Unique(
                error="InvalidParameter",
                same=("vpcId", "serviceName"),
                also=Clash(name="private DNS on both", test=_both_private),
            ),
        ),
    ),
    "aws:ec2/securityGroup:SecurityGroup": Kind(
        make=_security_group,
        tagged=True,
        auto_name=AutoName(property="name", limit=255),
        unique=(Unique(error="InvalidGroup.Duplicate", same=("vpcId", "name")),),
    ),
    "aws:ec2/defaultSecurityGroup:DefaultSecurityGroup": Kind(make=_security_group, tagged=True),
}
