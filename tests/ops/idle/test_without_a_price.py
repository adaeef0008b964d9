"""`ops idle plan` where nobody knows what the nodes cost: as the stack files are checked in."""

import json

import pytest

from tests.ops.idle.conftest import BURSTS, POOL

HOW = (
    f"gpuPools.{POOL}.prices: nobody knows what g7e.2xlarge costs in us-west-2; expected `prices: {{g7e.2xlarge: <USD"
    f" an hour>}}` below gpuPools.{POOL} in Pulumi.dev.yaml"
)


@pytest.fixture
def unpriced(ops, folder):
    """`unpriced(...)`: of the dev stack as it is, whose node has no price."""
    return lambda *more: ops("idle", "plan", "--server", "gemma", "--intervals", BURSTS, *more)


def test_without_a_price_node_hours_are_counted_and_the_same_policy_is_best(unpriced, edit):
    code, out, err = unpriced("--json")
    found = json.loads(out)
    assert (code, err.splitlines()[-1]) == (3, f"{HOW}, or --spot-price USD")
    assert (found["usdPerHour"], found["unclear"]) == (None, [f"{HOW}, or --spot-price USD"])
    edit(lambda settings: settings["gpuPools"][POOL].update(prices={"g7e.2xlarge": 3.6}))
    priced = json.loads(unpriced("--json")[1])
    assert (found["best"], found["settings"]) == (priced["best"], priced["settings"])
    assert [it["seconds"] for it in found["breakEvens"]] == [it["seconds"] for it in priced["breakEvens"]]
    for one, other in zip(found["policies"], priced["policies"], strict=True):
        assert one["usdPerDay"] is None
        assert one["nodeHoursPerDay"] == other["nodeHoursPerDay"] == pytest.approx(other["usdPerDay"] / 3.6)


def test_without_a_price_people_see_hours_and_ratios(unpriced):
    _, out, _ = unpriced()
    lines = out.splitlines()
    assert lines[0].startswith("gemma on 1 x g7e.2xlarge: USD an hour unknown; waiting costs nothing")
    (row,) = [line for line in lines if line.startswith("scale to zero  ")]
    (head,) = [line for line in lines if line.startswith("POLICY ")]
    assert head.split()[1:7] == ["NODE-HOURS/DAY", "NODES", "STARTS", "PENALTY", "OF", "ALWAYS"]
    assert row.split()[3:8] == ["1.52", "0.77", "0.75", "0.00", "6%"]
    assert lines[-5].endswith(" x 1 node = 0.09196 node-hours a return x 16.6 a day = 1.52 node-hours a day")


def test_a_penalty_is_not_weighed_against_nodes_that_have_no_price(unpriced):
    code, out, _ = unpriced("--penalty", "0.01")
    assert code == 3
    assert out.splitlines()[-1] == (
        "what waiting costs (--penalty) is USD, and what nodes cost nobody knows: neither which policy costs least can"
        " be told, nor from when on one does"
    )
    found = json.loads(unpriced("--penalty", "0.01", "--json")[1])
    assert (found["best"], found["breakEvens"]) == (None, [])
    assert "node kept" not in {row["policy"] for row in found["policies"]}


def test_a_pool_without_Spot_is_not_told_of_a_Spot_price(unpriced, edit):
    edit(lambda settings: settings["gpuPools"][POOL].update(capacity="on-demand"))
    assert unpriced()[2].splitlines()[-1] == HOW
