"""What is known of the price of a change, and what is not."""

import pytest

from infra.instances import catalogue, on_demand_price
from ops.impact.plan import DEPLOYMENT
from tests.ops.impact.plans import changed, pod, resource, server, spec

PRICES = {kind: on_demand_price(kind, "us-east-1").usd for kind in ("g6e.2xlarge", "g6e.4xlarge")}
DEAREST = round(max(PRICES.values()), 4)
"""Both have one GPU."""


def usd(gpus):
    return round(gpus * max(PRICES.values()), 4)


def pool(document):
    return document["outputs"]["gpuPools"]["l40s"]


def moved(items):
    return [(it.what, it.before, it.after, it.usd) for it in items if it.changes]


def test_the_same_stack_costs_the_same():
    found = changed(lambda _: None).cost
    assert (moved(found.standing), moved(found.ceiling), found.delta) == ([], [], 0)


def test_a_limit_moves_the_ceiling_and_nothing_that_runs():
    found = changed(lambda it: pool(it).update(maxGpus=6)).cost
    assert moved(found.ceiling) == [("pool l40s", "4 GPU", "6 GPU", (usd(4), usd(6)))]
    assert found.delta == 0


def test_replicas_run_all_the_time():
    found = changed(lambda it: spec(it, DEPLOYMENT).update(replicas=3)).cost
    assert moved(found.standing) == [("server chat", "1 GPU", "3 GPU", (DEAREST, usd(3)))]
    assert found.delta == pytest.approx(2 * DEAREST, abs=0.001)


@pytest.mark.parametrize("capacity", ["static", "reserved"])
def test_a_server_on_nodes_that_are_paid_anyway_costs_nothing_more(capacity):
    found = changed(
        lambda it: spec(it, DEPLOYMENT).update(replicas=3), before=lambda it: pool(it).update(capacity=capacity)
    ).cost
    assert moved(found.standing) == []


def test_a_new_server_is_one_more_that_runs():
    def add(document):
        document["resources"].append(server("more"))
        document["outputs"]["servers"]["more"] = {}

    assert moved(changed(add).cost.standing) == [("server more", "none", "1 GPU", (0.0, DEAREST))]


@pytest.mark.parametrize(
    ("told", "usd"), [("3.4", 3.4), ("3.36-4.2", 4.2), ("unknown", None)], ids=["figure", "range", "unknown"]
)
def test_standing_nodes_cost_what_the_program_says_at_most(told, usd):
    found = changed(lambda it: pool(it).update(standingUsdPerHour=told)).cost
    assert [it[3] for it in moved(found.standing)] == [(0.0, usd)]
    assert found.delta == usd


@pytest.mark.parametrize(
    ("token", "inputs", "said"),
    [
        ("aws:ec2/natGateway:NatGateway", {}, ("NAT gateways", "0", "1", (0.0, None))),
        (
            "aws:ec2/vpcEndpoint:VpcEndpoint",
            {"vpcEndpointType": "Interface", "subnetIds": ["a", "b"]},
            ("interface endpoints (each zone counts)", "0", "2", (0.0, None)),
        ),
        (
            "aws:eks/nodeGroup:NodeGroup",
            {"scalingConfig": {"desiredSize": 3}, "instanceTypes": ["m7i.large"]},
            ("system nodes new", "none", "3 m7i.large", (0.0, None)),
        ),
    ],
    ids=["nat", "endpoint", "system nodes"],
)
def test_what_has_no_price_here_makes_the_difference_unknown(token, inputs, said):
    found = changed(lambda it: it["resources"].append(resource(token, "new", inputs))).cost
    assert moved(found.standing) == [said]
    assert found.delta is None


def test_a_gateway_endpoint_is_free():
    found = changed(
        lambda it: it["resources"].append(
            resource("aws:ec2/vpcEndpoint:VpcEndpoint", "s3", {"vpcEndpointType": "Gateway", "subnetIds": ["a"]})
        )
    ).cost
    assert moved(found.standing) == []


def test_a_price_that_is_learned_is_no_change():
    found = changed(
        lambda _: None,
        before=lambda it: it["outputs"].update(region="nowhere"),
        tree=lambda it: it["gpuPools"]["l40s"].update(prices=dict.fromkeys(PRICES, 2.5)),
    ).cost
    assert (moved(found.standing), found.delta) == ([], 0)


def test_the_stack_files_price_counts_before_the_list():
    found = changed(
        lambda it: spec(it, DEPLOYMENT).update(replicas=2),
        tree=lambda it: it["gpuPools"]["l40s"].update(prices=dict.fromkeys(PRICES, 2.5)),
    ).cost
    assert found.delta == 2.5


def test_a_pod_of_more_gpus_costs_more():
    def four(document):
        pod(document)["containers"][0]["resources"]["limits"]["nvidia.com/gpu"] = "4"

    assert changed(four).cost.delta == pytest.approx(3 * DEAREST, abs=0.001)
    assert {catalogue()[kind].gpus for kind in PRICES} == {1}
