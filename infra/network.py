"""The VPC: subnets computed from one CIDR, NAT, and the S3 gateway endpoint that keeps weights off the NAT."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from ipaddress import IPv4Network
from typing import Annotated, Literal

import pulumi
from pulumi_aws import ec2, vpc
from pydantic import BeforeValidator, Field, StringConstraints

from infra.naming import endpoint_service
from infra.section import EachOnce, Section

ZONE_LETTERS = "abcdefgh"
"""A zone's letter, not its place in the list, decides its addresses: zones can be added anywhere."""

WIDEST, NARROWEST = 16, 20
"""Prefix lengths of a VPC. A /20 still gives every zone 251 private addresses and a public /27, the least that a load
balancer accepts; wider than /16 AWS refuses."""

PRIVATE_RANGES = tuple(IPv4Network(text) for text in ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "100.64.0.0/10"))


def _cidr(value: object) -> IPv4Network:
    if not isinstance(value, str):
        raise ValueError  # noqa: TRY004 - pydantic turns only ValueError into a line of its report
    try:
        network = IPv4Network(value, strict=False)
    except ValueError:
        raise ValueError from None
    if str(network) != value:
        raise ValueError(f"has bits below its prefix; expected {network}")
    return network


def _vpc_cidr(value: object) -> IPv4Network:
    network = _cidr(value)
    if not WIDEST <= network.prefixlen <= NARROWEST:
        raise ValueError(
            f"/{network.prefixlen} is too {'small' if network.prefixlen > NARROWEST else 'large'};"
            f" expected a prefix length of {WIDEST} to {NARROWEST}"
        )
    if not any(network.subnet_of(private) for private in PRIVATE_RANGES):
        raise ValueError("not a private range (RFC 1918 or 100.64.0.0/10)")
    return network


Cidr = Annotated[IPv4Network, BeforeValidator(_cidr)]
VpcCidr = Annotated[IPv4Network, BeforeValidator(_vpc_cidr)]
Zone = Annotated[str, StringConstraints(pattern=r"^[a-z]{2,}(-[a-z]+)+-[0-9][a-h]$")]
InterfaceEndpoint = Literal["ecr.api", "ecr.dkr", "sts", "eks-auth", "logs"]


class NetworkSettings(Section):
    """`network`."""

    cidr: VpcCidr = Field(description="a private IPv4 network of /16 to /20, for example 10.0.0.0/16")
    zones: Annotated[tuple[Zone, ...], Field(min_length=2, max_length=4), EachOnce] = Field(
        description="a list of 2 to 4 availability zones of the stack's region, for example [us-west-2a, us-west-2b]"
    )
    nat: Literal["single", "per-zone"] = Field(
        description="single (one NAT gateway, in the first of cluster.zones) or per-zone (one in each)"
    )
    interface_endpoints: Annotated[tuple[InterfaceEndpoint, ...], EachOnce] = Field(
        description="a list out of ecr.api, ecr.dkr, sts, eks-auth, logs (may be empty)"
    )


@dataclass(frozen=True)
class ZoneSubnets:
    """The two subnets of one zone."""

    private: IPv4Network
    public: IPv4Network


def subnets(cidr: IPv4Network, zones: Sequence[str]) -> dict[str, ZoneSubnets]:
    """Return the subnets of each zone.

    The VPC is cut into 16 blocks: 0-7 are the private subnets of the zones a-h, block 8 is cut again into their eight
    public ones, 9-15 stay free. The addresses of a zone depend on nothing but the VPC and the zone's letter.
    """
    blocks = list(cidr.subnets(prefixlen_diff=4))
    public = list(blocks[len(ZONE_LETTERS)].subnets(prefixlen_diff=3))
    return {
        zone: ZoneSubnets(blocks[ZONE_LETTERS.index(zone[-1])], public[ZONE_LETTERS.index(zone[-1])]) for zone in zones
    }


@dataclass(frozen=True, kw_only=True)
class NetworkArgs:
    """Plain values: they decide how many resources there are."""

    settings: NetworkSettings
    region: str
    home_zone: str
    """Where a single NAT gateway stands."""
    cluster_name: str
    """Only for Name tags."""
    protect: bool
    """EKS's own deletion protection speaks when everything inside the cluster is gone already. A protected VPC stops
    `pulumi destroy` in its preview, and no change of a setting ever deletes one."""


class Network(pulumi.ComponentResource):
    """VPC with a public and a private subnet per zone.

    It carries no `kubernetes.io/cluster/<name>` tag anywhere: EKS's own security group has it, and a second one stops
    the load balancer controller (aws-load-balancer-controller#1897).
    """

    vpc_id: pulumi.Output[str]
    private_subnet_ids: Mapping[str, pulumi.Output[str]]
    """By zone."""
    s3_addresses: pulumi.Output[Sequence[str]]
    """CIDR blocks of S3 in the region, as the provider last read them."""

    def __init__(self, name: str, args: NetworkArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("vllm-eks:infra:Network", name, None, opts)
        settings, title = args.settings, args.cluster_name
        child = pulumi.ResourceOptions(parent=self)
        layout = subnets(settings.cidr, settings.zones)

        network = ec2.Vpc(
            name,
            cidr_block=str(settings.cidr),
            enable_dns_support=True,
            enable_dns_hostnames=True,
            tags={"Name": title},
            opts=pulumi.ResourceOptions(parent=self, protect=args.protect),
        )
        internet = ec2.InternetGateway(f"{name}-internet", vpc_id=network.id, tags={"Name": title}, opts=child)
        public_routes = ec2.RouteTable(
            f"{name}-public", vpc_id=network.id, tags={"Name": f"{title}-public"}, opts=child
        )
        to_internet = ec2.Route(
            f"{name}-public-default",
            route_table_id=public_routes.id,
            destination_cidr_block="0.0.0.0/0",
            gateway_id=internet.id,
            opts=child,
        )

        public: dict[str, ec2.Subnet] = {}
        private: dict[str, ec2.Subnet] = {}
        private_routes: dict[str, ec2.RouteTable] = {}
        for zone, pair in layout.items():
            public[zone] = ec2.Subnet(
                f"{name}-public-{zone}",
                vpc_id=network.id,
                availability_zone=zone,
                cidr_block=str(pair.public),
                tags={"Name": f"{title}-public-{zone}", "kubernetes.io/role/elb": "1"},
                opts=child,
            )
            private[zone] = ec2.Subnet(
                f"{name}-private-{zone}",
                vpc_id=network.id,
                availability_zone=zone,
                cidr_block=str(pair.private),
                tags={"Name": f"{title}-private-{zone}", "kubernetes.io/role/internal-elb": "1"},
                opts=child,
            )
            # one table per zone even with a single NAT: going to one NAT per zone then only changes a route
            private_routes[zone] = ec2.RouteTable(
                f"{name}-private-{zone}", vpc_id=network.id, tags={"Name": f"{title}-private-{zone}"}, opts=child
            )
            for scope, subnet, table in (
                ("public", public[zone], public_routes),
                ("private", private[zone], private_routes[zone]),
            ):
                ec2.RouteTableAssociation(
                    f"{name}-{scope}-{zone}", subnet_id=subnet.id, route_table_id=table.id, opts=child
                )

        gateways = {
            zone: self._nat(f"{name}-nat-{zone}", public[zone], f"{title}-{zone}", after=to_internet)
            for zone in (settings.zones if settings.nat == "per-zone" else (args.home_zone,))
        }
        for zone, table in private_routes.items():
            ec2.Route(
                f"{name}-private-{zone}-default",
                route_table_id=table.id,
                destination_cidr_block="0.0.0.0/0",
                nat_gateway_id=gateways[zone if settings.nat == "per-zone" else args.home_zone].id,
                opts=child,
            )

        # Weights and image layers come from S3: through the NAT every gigabyte is charged (pytorch/ci-infra#1032).
        # The policy stays open: one that lists buckets breaks ECR layers and AL2023 packages (vpc-cni#917).
        storage = ec2.VpcEndpoint(
            f"{name}-s3",
            vpc_id=network.id,
            service_name=endpoint_service(args.region, "s3"),
            vpc_endpoint_type="Gateway",
            route_table_ids=[table.id for table in private_routes.values()],
            tags={"Name": f"{title}-s3"},
            opts=child,
        )
        if settings.interface_endpoints:
            self._interface_endpoints(name, args, network, list(private.values()))

        self.vpc_id = network.id
        self.private_subnet_ids = {zone: subnet.id for zone, subnet in private.items()}
        self.s3_addresses = storage.cidr_blocks
        self.register_outputs({"vpcId": self.vpc_id, "privateSubnetIds": self.private_subnet_ids})

    def _nat(self, name: str, subnet: ec2.Subnet, title: str, *, after: ec2.Route) -> ec2.NatGateway:
        address = ec2.Eip(name, domain="vpc", tags={"Name": title}, opts=pulumi.ResourceOptions(parent=self))
        return ec2.NatGateway(
            name,
            subnet_id=subnet.id,
            allocation_id=address.id,
            tags={"Name": title},
            # Data shows no edge from the gateway to the route that makes its subnet public. A new gateway cannot have
            # the address while the old one holds it (Resource.AlreadyAssociated).
            opts=pulumi.ResourceOptions(parent=self, depends_on=[after], delete_before_replace=True),
        )

    def _interface_endpoints(
        self, name: str, args: NetworkArgs, network: ec2.Vpc, private: Sequence[ec2.Subnet]
    ) -> None:
        child = pulumi.ResourceOptions(parent=self)
        group = ec2.SecurityGroup(
            f"{name}-endpoints",
            vpc_id=network.id,
            description="HTTPS from the VPC to AWS interface endpoints",
            tags={"Name": f"{args.cluster_name}-endpoints"},
            opts=child,
        )
        vpc.SecurityGroupIngressRule(
            f"{name}-endpoints-https",
            security_group_id=group.id,
            cidr_ipv4=str(args.settings.cidr),
            ip_protocol="tcp",
            from_port=443,
            to_port=443,
            opts=child,
        )
        for service in args.settings.interface_endpoints:
            ec2.VpcEndpoint(
                f"{name}-{service}",
                vpc_id=network.id,
                service_name=endpoint_service(args.region, service),
                vpc_endpoint_type="Interface",
                private_dns_enabled=True,
                subnet_ids=[subnet.id for subnet in private],
                security_group_ids=[group.id],
                tags={"Name": f"{args.cluster_name}-{service}"},
                opts=child,
            )
