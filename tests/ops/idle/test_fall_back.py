"""On-demand nodes where Spot was wanted: what they cost more, and the way back."""

from datetime import UTC, datetime

import pytest
from boto3.session import Session
from botocore.stub import ANY, Stubber

from ops.failures import UnclearError
from ops.idle.status import fall_back
from ops.idle.status.fall_back import fall_backs, spot_now
from ops.idle.status.nodes import Node
from ops.stack.stack_file import read

POOL = "rtx-pro-6000"


@pytest.fixture
def stack(folder, edit):
    def make(**pool):
        edit(lambda settings: settings["gpuPools"][POOL].update({"prices": {"g7e.2xlarge": 3.6}, **pool}))
        return read("dev")

    return make


def node(market="on-demand", **more):
    known = {"name": "n", "claim": "n-claim", "pool": POOL, "instance_type": "g7e.2xlarge", "state": "busy"}
    return Node(**{**known, "market": market, "since": None, "goes": None, "servers": ["gemma"], **more})


def test_what_is_bought_on_demand_costs_the_difference_and_a_start_is_the_way_back(stack):
    (found,), unclear = fall_backs([node()], stack(), lambda _: 1.2)
    assert (found.more, found.command, unclear) == (pytest.approx(2.4), "kubectl delete nodeclaim n-claim", [])
    assert found.seconds == pytest.approx(176.0, abs=0.1)
    # a start on Spot, paid by what Spot saves
    assert found.pays_after == pytest.approx(found.seconds * 1.2 / 2.4)


@pytest.mark.parametrize(
    ("its", "pool"),
    [(node("spot"), {}), (node(), {"capacity": "on-demand"}), (node(pool="strange"), {})],
    ids=["Spot", "wanted", "of another stack"],
)
def test_only_what_was_to_be_spot_is_a_fall_back(stack, its, pool):
    assert fall_backs([its], stack(**pool), lambda _: 1 / 0) == ([], [])


@pytest.mark.parametrize(("spot", "more"), [(None, None), (4.0, pytest.approx(-0.4))])
def test_a_spot_price_that_saves_nothing_pays_for_no_start(stack, spot, more):
    (found,), _ = fall_backs([node()], stack(), lambda _: spot)
    assert (found.more, found.pays_after) == (more, None)


def test_an_unknown_price_is_unknown(stack):
    (found,), _ = fall_backs([node(claim="")], stack(prices={}), lambda _: 1.0)
    assert (found.on_demand, found.more, found.command) == (None, None, "kubectl delete node n")


def test_a_price_that_ec2_does_not_tell_names_the_right(stack):
    def silent(_):
        raise UnclearError("EC2: AWS answers UnauthorizedOperation: no")

    (found,), unclear = fall_backs([node()], stack(), silent)
    assert found.spot is None
    assert unclear == [
        "node n: EC2: AWS answers UnauthorizedOperation: no (needs ec2:DescribeSpotPriceHistory)",
    ]


@pytest.fixture
def ec2(monkeypatch):
    """A client of EC2 that answers as told, and its stub."""
    client = Session().client("ec2", region_name="us-west-2")
    monkeypatch.setattr(fall_back.aws, "client", lambda *_: client)
    with Stubber(client) as stub:
        yield stub


ASKED = {
    "InstanceTypes": ["g7e.2xlarge"],
    "ProductDescriptions": ["Linux/UNIX"],
    "StartTime": ANY,
    "Filters": [{"Name": "availability-zone", "Values": ["us-west-2a", "us-west-2b"]}],
}


def price(usd, zone):
    return {"SpotPrice": usd, "AvailabilityZone": zone, "Timestamp": datetime.now(UTC)}


def test_the_cheapest_zone_of_all_pages_counts_and_is_asked_once(stack, ec2):
    ec2.add_response(
        "describe_spot_price_history", {"SpotPriceHistory": [price("1.5", "us-west-2a")], "NextToken": "t"}, ASKED
    )
    ec2.add_response(
        "describe_spot_price_history",
        {"SpotPriceHistory": [price("1.2", "us-west-2b")], "NextToken": ""},
        {**ASKED, "NextToken": "t"},
    )
    ask = spot_now(stack())
    assert (ask("g7e.2xlarge"), ask("g7e.2xlarge")) == (1.2, 1.2)
    ec2.assert_no_pending_responses()


def test_a_type_without_spot_has_no_price(stack, ec2):
    ec2.add_response("describe_spot_price_history", {"SpotPriceHistory": []}, ASKED)
    assert spot_now(stack())("g7e.2xlarge") is None


@pytest.mark.parametrize("code", ["UnauthorizedOperation", "RequestLimitExceeded"])
def test_ec2_that_denies_or_throttles_is_unclear(stack, ec2, code, monkeypatch):
    monkeypatch.setattr("time.sleep", lambda _: None)
    for _ in range(6):
        ec2.add_client_error("describe_spot_price_history", code, "no")
    with pytest.raises(UnclearError) as unclear:
        spot_now(stack())("g7e.2xlarge")
    assert str(unclear.value) == f"Spot price of g7e.2xlarge in us-west-2: AWS answers {code}: no"
