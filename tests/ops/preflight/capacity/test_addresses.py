"""Addresses: what nodes take against what is free, before and after there is a network."""

import pytest

from infra.network import subnets
from ops.preflight.capacity import addresses
from tests.ops.preflight.cloud import DENIED_EC2, Refusal
from tests.ops.preflight.conftest import private_subnets

NEED = "need 332 addresses (rtx-pro-6000 2 x g7e.2xlarge x 128 + 2 system nodes x 30 + EKS 16)"


def lines(findings):
    return [(it.verdict, it.subject, it.found, it.fix) for it in findings]


def test_before_there_is_a_network_it_is_computed(asked, cloud):
    cloud.on("DescribeVpcs", {"Vpcs": []})
    assert lines(addresses.check(asked())) == [
        (
            "ok",
            "private subnets",
            f"{NEED}; 8182 free in us-west-2a 4091, us-west-2b 4091 = 8182 >= 332; `pulumi up` makes us-west-2a,"
            " us-west-2b",
            "",
        )
    ]
    assert {name for name, _ in cloud.asked} == {"DescribeVpcs"}


def test_free_addresses_and_those_of_its_own_nodes_are_what_it_has(asked, cloud):
    cloud.on("DescribeSubnets", {"Subnets": private_subnets(150)})
    interface = {"PrivateIpAddresses": [{"PrivateIpAddress": "10.0.0.1"}] * 15}
    node = {"InstanceType": "m7i.large", "NetworkInterfaces": [interface, interface]}
    page = {"Reservations": [{"Instances": [node]}]}
    cloud.on("DescribeInstances", {**page, "NextToken": "2"}, page)
    (finding,) = addresses.check(asked())
    assert finding.found == (f"{NEED}; 300 free in us-west-2a 150, us-west-2b 150 + 60 of its own nodes = 360 >= 332")
    assert finding.figures == {"need": 332, "free": {"us-west-2a": 150, "us-west-2b": 150}, "own": 60}
    assert cloud.times("DescribeInstances")[0]["Filters"][1]["Values"] == ["kubernetes.io/cluster/inference-dev"]


def test_too_few_fail_with_the_sum_and_a_subnet_without_room_is_named(asked, cloud):
    cloud.on("DescribeSubnets", {"Subnets": private_subnets(7)})
    room = "take out what else is in this subnet: nodes start in other zones until then"
    assert lines(addresses.check(asked())) == [
        (
            "fail",
            "private subnets",
            f"{NEED}; 14 free in us-west-2a 7, us-west-2b 7 = 14 < 332",
            "a smaller maxGpus, more network.zones, or take out what else is in these subnets",
        ),
        ("warn", "us-west-2a", "7 free addresses < 128 that one node may take", room),
        ("warn", "us-west-2b", "7 free addresses < 128 that one node may take", room),
    ]


def test_public_subnets_and_strangers_do_not_count_and_all_pages_are_read(asked, cloud):
    stack = asked()
    private = private_subnets(1000)
    other = {"SubnetId": "x", "CidrBlock": "10.64.128.0/23", "AvailableIpAddressCount": 9999}
    cloud.on("DescribeSubnets", {"Subnets": [private[0], other], "NextToken": "2"}, {"Subnets": private[1:]})
    (finding,) = addresses.check(stack)
    assert finding.figures["free"] == {"us-west-2a": 1000, "us-west-2b": 1000}


def test_a_zone_that_was_just_added_is_computed(asked, cloud):
    cloud.on("DescribeSubnets", {"Subnets": private_subnets(1000)[:1]})
    (finding,) = addresses.check(asked())
    assert finding.figures["free"] == {"us-west-2a": 1000, "us-west-2b": 4091}
    assert finding.found.endswith("; `pulumi up` makes us-west-2b")


def test_two_networks_of_one_name_are_unknown(asked, cloud):
    cloud.on("DescribeVpcs", {"Vpcs": [{"VpcId": "vpc-1"}], "NextToken": "2"}, {"Vpcs": [{"VpcId": "vpc-2"}]})
    assert lines(addresses.check(asked())) == [
        (
            "unknown",
            "10.64.0.0/16",
            "2 VPCs are called inference-dev: vpc-1, vpc-2",
            "delete the one that is no stack's",
        )
    ]


@pytest.mark.parametrize(
    ("operation", "subject"),
    [("DescribeVpcs", "-"), ("DescribeSubnets", "vpc-1"), ("DescribeInstances", "vpc-1")],
)
@pytest.mark.parametrize(
    ("refusal", "fix"),
    [(DENIED_EC2, "allow ec2:{}, then run again"), (Refusal("RequestLimitExceeded", "slow"), "run again later")],
    ids=["denied", "throttled"],
)
def test_what_nobody_tells_is_unknown(asked, cloud, operation, subject, refusal, fix):
    cloud.on(operation, refusal)
    why = f"ec2:{operation}: AWS answers {refusal.code}: {refusal.message}"
    assert lines(addresses.check(asked())) == [("unknown", subject, why, fix.format(operation))]


def test_against_moto_the_networks_own_subnets_are_found(real, aws):
    stack = real()
    network = stack.stack.settings.network
    ec2 = aws("ec2")
    tags = [{"ResourceType": "vpc", "Tags": [{"Key": "Name", "Value": "inference-dev"}]}]
    made = ec2.create_vpc(CidrBlock=str(network.cidr), TagSpecifications=tags)["Vpc"]["VpcId"]
    for zone, pair in subnets(network.cidr, network.zones).items():
        for cidr in (pair.private, pair.public):
            ec2.create_subnet(VpcId=made, AvailabilityZone=zone, CidrBlock=str(cidr))
    (finding,) = addresses.check(stack)
    assert (finding.verdict, finding.figures["free"], finding.figures["own"]) == (
        "ok",
        {"us-west-2a": 4091, "us-west-2b": 4091},
        0,
    )
