"""The way of the data: what NAT charges for, and S3's endpoint does not."""

from __future__ import annotations

import pytest

from guardrails.money import ENDPOINT, ENDPOINT_TABLE, ROUTE_TABLES
from tests.policies.conftest import UNKNOWN, found, resource, unchecked
from tests.policies.money.parts import endpoint, nat, way

NONE = "it carries the traffic to S3: this stack has no gateway endpoint for S3; add one, it is free"


def table(name, **options):
    return resource(ROUTE_TABLES[0], options.pop("props", {}), name, **options)


def forgotten(name):
    return f"route table {name} sends to it, and no gateway endpoint for S3 lists that table; add it"


def test_nat_beside_an_endpoint_that_lists_its_tables_passes():
    gateway, a, b = nat(), table("a"), table("b")
    assert found("s3-gateway", gateway, a, b, way(gateway, a), way(gateway, b), endpoint(a, b)) == []


def test_nat_without_an_endpoint():
    assert found("s3-gateway", nat()) == [NONE]
    # an interface endpoint costs by the gigabyte too, and one for another service carries nothing of S3
    assert found("s3-gateway", nat(), endpoint(vpcEndpointType="Interface")) == [NONE]
    assert found("s3-gateway", nat(), endpoint(serviceName="com.amazonaws.us-west-2.dynamodb")) == [NONE]
    assert found("s3-gateway", nat(), resource(ENDPOINT, {})) == [NONE]
    # Gateway is the default
    gateway, a = nat(), table("a")
    assert found("s3-gateway", gateway, a, way(gateway, a), endpoint(a, vpcEndpointType=None)) == []


def test_a_table_that_the_endpoint_does_not_list():
    gateway, other, a, b = nat(), nat(), table("a"), table("b")
    stack = [gateway, a, b, way(gateway, a), way(gateway, b), way(other, table("elsewhere")), endpoint(a)]
    assert found("s3-gateway", *stack) == [forgotten("b")]
    # what a table says inline
    inline = table("inline", sources={"routes": [gateway]})
    assert found("s3-gateway", gateway, inline, endpoint(a)) == [forgotten("inline")]
    assert found("s3-gateway", gateway, inline, endpoint(inline)) == []


def test_a_table_may_be_joined_to_the_endpoint_by_a_resource_of_its_own():
    gateway, a, s3 = nat(), table("a"), endpoint()
    joined = resource(ENDPOINT_TABLE, {}, "join", sources={"vpcEndpointId": [s3], "routeTableId": [a]})
    assert found("s3-gateway", gateway, a, way(gateway, a), s3, joined) == []
    elsewhere = resource(ENDPOINT_TABLE, {}, "join", sources={"vpcEndpointId": [], "routeTableId": [a]})
    assert found("s3-gateway", gateway, a, way(gateway, a), s3, elsewhere) == [forgotten("a")]


def test_a_table_inside_a_component_is_listed_by_what_the_component_gives_out():
    vpc = resource("awsx:ec2:Vpc", {}, "vpc")
    gateway, a = nat(), table("a", parent=vpc)
    assert found("s3-gateway", gateway, a, way(gateway, a), endpoint(vpc)) == []


def test_tables_that_are_there_already_are_compared_by_id():
    gateway = nat()
    route = way(gateway, routeTableId="rtb-1")
    assert found("s3-gateway", gateway, route, endpoint(routeTableIds=["rtb-1"])) == []
    assert found("s3-gateway", gateway, route, endpoint(routeTableIds=[UNKNOWN, "rtb-2"])) == [forgotten("rtb-1")]
    assert found("s3-gateway", gateway, way(gateway), endpoint()) == [forgotten("of route way")]


def test_only_a_default_route_leads_to_s3():
    gateway, a = nat(), table("a")
    for narrow in ({"destinationCidrBlock": "10.0.0.0/8"}, {"destinationCidrBlock": None}):
        assert found("s3-gateway", gateway, a, way(gateway, a, **narrow), endpoint()) == []


def test_a_private_gateway_costs_as_much_where_all_traffic_goes_by_it():
    assert found("s3-gateway", nat(connectivityType="public")) == [NONE]
    private, a = nat(connectivityType="private"), table("a")
    assert found("s3-gateway", private) == []
    assert found("s3-gateway", private, a, way(private, a, destinationCidrBlock="10.0.0.0/8")) == []
    assert found("s3-gateway", private, a, way(private, a)) == [NONE]


@pytest.mark.parametrize("name", ["vpcEndpointType", "serviceName"])
def test_TST_03_endpoint(name):
    unknown = endpoint(**{name: UNKNOWN})
    assert (found("s3-gateway", nat(), unknown), unchecked("s3-gateway", nat(), unknown)) == ([], [f"s3.{name}"])
    assert found("s3-gateway", nat(), endpoint(**{name: 7})) == [f"s3.{name}: expected a text, found a number"]


def test_TST_03_an_unknown_endpoint_hides_no_table_that_another_lists():
    gateway, a, b = nat(), table("a"), table("b")
    stack = [gateway, a, b, way(gateway, a), endpoint(a), resource(ENDPOINT, {"serviceName": UNKNOWN}, "other")]
    assert (found("s3-gateway", *stack), unchecked("s3-gateway", *stack)) == ([], [])
    assert unchecked("s3-gateway", *stack, way(gateway, b)) == ["other.serviceName"]


def test_TST_03_nat_gateway():
    assert unchecked("s3-gateway", nat(connectivityType=UNKNOWN)) == ["connectivityType"]
    assert found("s3-gateway", nat(connectivityType=[])) == ["connectivityType: expected a text, found a list"]
    gateway = nat()
    unclear = way(gateway, destinationCidrBlock=UNKNOWN)
    assert unchecked("s3-gateway", gateway, unclear, endpoint()) == ["way.destinationCidrBlock"]
    assert found("s3-gateway", nat(), endpoint(routeTableIds="rtb-1")) == [
        "s3.routeTableIds: expected a list, found a text"
    ]
