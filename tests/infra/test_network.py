"""Subnets are arithmetic; routes decide who pays for the weights."""

from ipaddress import IPv4Network
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pulumi_aws import ec2, eks, vpc

from infra.naming import endpoint_service
from infra.network import ZONE_LETTERS, subnets
from tests.harness import Recording, record_program, stack_settings

PREFIXES = st.integers(16, 20)
ZONES = st.lists(
    st.sampled_from([f"us-west-2{letter}" for letter in ZONE_LETTERS]), min_size=2, max_size=4, unique=True
)


def network(prefix: int) -> IPv4Network:
    return IPv4Network(f"10.0.0.0/{prefix}")


@given(PREFIXES, ZONES)
def test_subnets_lie_in_the_vpc_and_never_overlap(prefix: int, zones: list[str]) -> None:
    pairs = subnets(network(prefix), zones).values()
    every = [subnet for pair in pairs for subnet in (pair.private, pair.public)]
    assert all(subnet.subnet_of(network(prefix)) for subnet in every)
    assert not any(one.overlaps(other) for one, other in combinations(every, 2))


@given(PREFIXES, ZONES, ZONES)
def test_no_change_of_the_zone_list_moves_a_subnet(prefix: int, before: list[str], after: list[str]) -> None:
    old, new = subnets(network(prefix), before), subnets(network(prefix), after)
    assert {zone: old[zone] for zone in old if zone in new} == {zone: new[zone] for zone in new if zone in old}


@given(PREFIXES, ZONES)
def test_every_subnet_is_large_enough_for_a_load_balancer(prefix: int, zones: list[str]) -> None:
    """An Application Load Balancer wants a /27 at least; private subnets are for nodes and pods."""
    for pair in subnets(network(prefix), zones).values():
        assert pair.public.prefixlen <= 27
        assert pair.private.num_addresses == pair.public.num_addresses * 8


def test_the_layout_is_the_documented_one() -> None:
    pair = subnets(network(16), ["us-west-2a", "us-west-2c"])["us-west-2c"]
    assert (str(pair.private), str(pair.public)) == ("10.0.32.0/20", "10.0.132.0/23")


def test_every_private_subnet_leaves_through_nat_and_every_public_one_through_the_internet_gateway(
    recording: Recording, stack: str
) -> None:
    settings = stack_settings(stack)["network"]
    first = stack_settings(stack)["cluster"]["zones"][0]
    routes = {r.name: r.inputs for r in recording.all(ec2.Route)}
    assert routes.pop("network-public-default")["gatewayId"] == "network-internet-id"
    expected = {
        f"network-private-{zone}-default": f"network-nat-{zone if settings['nat'] == 'per-zone' else first}-id"
        for zone in settings["zones"]
    }
    assert {name: inputs["natGatewayId"] for name, inputs in routes.items()} == expected
    assert {inputs["destinationCidrBlock"] for inputs in routes.values()} == {"0.0.0.0/0"}
    tables = {r.inputs["subnetId"]: r.inputs["routeTableId"] for r in recording.all(ec2.RouteTableAssociation)}
    assert tables == {
        f"network-{scope}-{zone}-id": "network-public-id" if scope == "public" else f"network-private-{zone}-id"
        for scope in ("public", "private")
        for zone in settings["zones"]
    }


def test_nat_gateways_stand_in_public_subnets_after_their_route(recording: Recording) -> None:
    for gateway in recording.all(ec2.NatGateway):
        zone = gateway.name.removeprefix("network-nat-")
        assert gateway.inputs["subnetId"] == f"network-public-{zone}-id"
        assert recording.one(ec2.Route, "network-public-default").urn in gateway.dependencies


def test_NET_02_the_s3_endpoint_is_in_every_private_route_table(recording: Recording, stack: str) -> None:
    """Where it is missing, terabytes of weights pay NAT charges (pytorch/ci-infra#1032)."""
    endpoint = recording.one(ec2.VpcEndpoint, "network-s3").inputs
    zones = stack_settings(stack)["network"]["zones"]
    assert endpoint["routeTableIds"] == [f"network-private-{zone}-id" for zone in zones]
    assert endpoint["serviceName"] == "com.amazonaws.us-west-2.s3"
    assert endpoint["vpcEndpointType"] == "Gateway"
    assert "policy" not in endpoint


def test_NET_02_three_zones_with_a_nat_each_have_three_tables_on_the_endpoint() -> None:
    raw = stack_settings("dev")
    raw["network"] |= {"zones": ["us-west-2a", "us-west-2b", "us-west-2d"], "nat": "per-zone"}
    recorded = record_program(raw)
    assert len(recorded.one(ec2.VpcEndpoint).inputs["routeTableIds"]) == 3
    assert len(recorded.all(ec2.NatGateway)) == 3


def test_names_of_endpoints_and_nodes_resolve_in_the_vpc(recording: Recording) -> None:
    """Private DNS of interface endpoints and of the private API endpoint needs both."""
    vpc_inputs = recording.one(ec2.Vpc).inputs
    assert vpc_inputs["enableDnsSupport"] is True
    assert vpc_inputs["enableDnsHostnames"] is True


def test_interface_endpoints_reach_every_private_subnet_over_https_only(recording: Recording, stack: str) -> None:
    settings = stack_settings(stack)["network"]
    found = [r.inputs for r in recording.all(ec2.VpcEndpoint) if r.inputs["vpcEndpointType"] == "Interface"]
    assert {e["serviceName"] for e in found} == {f"com.amazonaws.us-west-2.{s}" for s in settings["interfaceEndpoints"]}
    for endpoint in found:
        assert endpoint["subnetIds"] == [f"network-private-{zone}-id" for zone in settings["zones"]]
        assert endpoint["privateDnsEnabled"] is True
    rules = [r.inputs for r in recording.maybe(vpc.SecurityGroupIngressRule)]
    assert [(r["cidrIpv4"], r["fromPort"], r["toPort"], r["ipProtocol"]) for r in rules] == (
        [(settings["cidr"], 443, 443, "tcp")] if found else []
    )


def test_no_tag_makes_a_second_security_group_claim_the_cluster(recording: Recording) -> None:
    """EKS's own group has the tag; with two the load balancer controller stops (#1897)."""
    tags = [key for r in recording.registered for key in (r.inputs.get("tags") or {})]
    assert not [key for key in tags if key.startswith("kubernetes.io/cluster/")]


def test_subnets_are_tagged_for_load_balancers(recording: Recording) -> None:
    for subnet in recording.all(ec2.Subnet):
        role = "kubernetes.io/role/elb" if "-public-" in subnet.name else "kubernetes.io/role/internal-elb"
        assert subnet.inputs["tags"][role] == "1"


def test_a_zone_added_in_front_moves_nothing_that_exists() -> None:
    """EKS refuses subnets in new zones, a node group with other subnets is replaced, a NAT gateway has one address."""
    raw = stack_settings("dev")
    raw["network"]["zones"] = raw["cluster"]["zones"] = ["us-west-2b", "us-west-2c"]
    before = record_program(raw)
    raw["network"]["zones"] = ["us-west-2a", "us-west-2b", "us-west-2c"]
    after = record_program(raw)
    for kind in (ec2.Subnet, ec2.NatGateway, ec2.Eip, ec2.Route, "eks:index:Cluster", eks.NodeGroup):
        kept = {r.urn: r.inputs for r in before.all(kind)}
        assert kept
        assert kept.items() <= {r.urn: r.inputs for r in after.all(kind)}.items(), kind


@pytest.mark.parametrize(
    ("region", "service", "name"),
    [
        ("eu-west-1", "ecr.api", "com.amazonaws.eu-west-1.ecr.api"),
        ("us-gov-west-1", "sts", "com.amazonaws.us-gov-west-1.sts"),
        ("cn-north-1", "s3", "com.amazonaws.cn-north-1.s3"),
        ("cn-north-1", "ecr.dkr", "cn.com.amazonaws.cn-north-1.ecr.dkr"),
        ("cn-northwest-1", "sts", "cn.com.amazonaws.cn-northwest-1.sts"),
    ],
)
def test_IAM_05_endpoint_names_follow_the_region(region: str, service: str, name: str) -> None:
    assert endpoint_service(region, service) == name
