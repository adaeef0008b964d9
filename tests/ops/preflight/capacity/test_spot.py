"""Spot: the role without which there is none, a score, and prices."""

import pytest

from ops.preflight.capacity import spot
from tests.ops.preflight.cloud import DENIED, DENIED_EC2, THROTTLED, Refusal
from tests.ops.preflight.conftest import price

ONE_GPU = {"gpus": 1}


def lines(findings):
    return {it.subject: (it.verdict, it.found, it.fix) for it in findings}


def one_gpu(settings):
    settings["gpuPools"]["rtx-pro-6000"].update(instanceTypes=ONE_GPU)


def test_a_pool_that_takes_spot_is_told_all_of_it(asked, cloud):
    assert lines(spot.check(asked())) == {
        "AWSServiceRoleForEC2Spot": ("ok", "the service-linked role is there", ""),
        "rtx-pro-6000 score": ("ok", "7 of 10 for 2 nodes of 2 types; with fewer than 3 types it is always low", ""),
        "rtx-pro-6000 g7e.2xlarge": (
            "ok",
            "USD an hour now: 1.1 us-west-2a, 1.1 us-west-2b; on-demand unknown",
            "",
        ),
        "rtx-pro-6000 g7e.4xlarge": (
            "ok",
            "USD an hour now: 1.1 us-west-2a, 1.1 us-west-2b; on-demand unknown",
            "",
        ),
    }
    (request,) = cloud.times("GetSpotPlacementScores")
    assert (request["TargetCapacity"], request["TargetCapacityUnitType"]) == (2, "units")
    assert request["RegionNames"] == ["us-west-2"]


def test_a_stack_without_spot_asks_nothing(asked, cloud):
    stack = asked(lambda settings: settings["gpuPools"]["rtx-pro-6000"].update(capacity="on-demand"))
    assert lines(spot.check(stack)) == {"-": ("ok", "no pool takes Spot", "")}
    assert cloud.asked == []


def test_without_the_role_every_node_would_be_on_demand_in_silence(asked, cloud):
    cloud.on("GetRole", Refusal("NoSuchEntity", "not found", 404))
    assert lines(spot.check(asked()))["AWSServiceRoleForEC2Spot"] == (
        "fail",
        "no service-linked role for Spot: nodes would be on-demand alone, without a word",
        "aws iam create-service-linked-role --aws-service-name spot.amazonaws.com",
    )


def test_the_role_against_moto(real, aws):
    client = real().aws.client("iam")
    with pytest.raises(client.exceptions.NoSuchEntityException):
        spot.role(client)
    aws("iam").create_service_linked_role(AWSServiceName="spot.amazonaws.com")
    names = [it["RoleName"] for it in aws("iam").list_roles()["Roles"]]
    aws("iam").create_role(RoleName=spot.ROLE, AssumeRolePolicyDocument="{}") if spot.ROLE not in names else None
    assert spot.role(client) is True


@pytest.mark.parametrize(("score", "verdict"), [(1, "warn"), (3, "warn"), (4, "ok"), (10, "ok")])
def test_a_low_score_of_enough_types_is_a_warning(asked, cloud, score, verdict):
    cloud.on("GetSpotPlacementScores", {"SpotPlacementScores": [{"Region": "us-west-2", "Score": score}]})
    found = lines(spot.check(asked(one_gpu)))["rtx-pro-6000 score"]
    assert found[:2] == (verdict, f"{score} of 10 for 2 nodes of 3 types")


def test_a_score_is_looked_for_on_all_pages_and_of_this_region(asked, cloud):
    cloud.on(
        "GetSpotPlacementScores",
        {"SpotPlacementScores": [{"Region": "us-east-1", "Score": 9}], "NextToken": "2"},
        {"SpotPlacementScores": [{"Region": "us-west-2", "Score": 5}]},
    )
    assert lines(spot.check(asked(one_gpu)))["rtx-pro-6000 score"][1] == "5 of 10 for 2 nodes of 3 types"


def test_no_score_is_unknown(asked, cloud):
    cloud.on("GetSpotPlacementScores", {"SpotPlacementScores": []})
    assert lines(spot.check(asked()))["rtx-pro-6000 score"] == (
        "unknown",
        "EC2 gives no score for 2 nodes of 2 types",
        "run again later",
    )


def test_the_price_is_the_newest_of_each_zone_on_all_pages(asked, cloud):
    kind, a, b = "g7e.2xlarge", "us-west-2a", "us-west-2b"
    cloud.on(
        "DescribeSpotPriceHistory",
        {"SpotPriceHistory": [price(kind, a, "1.5", day=2), price(kind, a, "9", day=1)], "NextToken": "2"},
        {"SpotPriceHistory": [price(kind, a, "8", day=1), price(kind, b, "1.25")]},
    )
    stack = asked(lambda settings: settings["gpuPools"]["rtx-pro-6000"].update(prices={kind: 3.4}))
    found = lines(spot.check(stack))
    assert found[f"rtx-pro-6000 {kind}"] == (
        "ok",
        "USD an hour now: 1.5 us-west-2a, 1.25 us-west-2b; 3.4 on-demand (stack file)",
        "",
    )
    assert found["rtx-pro-6000 g7e.4xlarge"] == (
        "warn",
        "no Spot price in any zone of the stack; on-demand unknown",
        "nothing, or another type",
    )


def test_spot_that_is_dearer_is_a_warning(asked, cloud):
    stack = asked(lambda settings: settings["gpuPools"]["rtx-pro-6000"].update(prices={"g7e.2xlarge": 1.0}))
    assert lines(spot.check(stack))["rtx-pro-6000 g7e.2xlarge"] == (
        "warn",
        "USD an hour now: 1.1 us-west-2a, 1.1 us-west-2b; 1 on-demand (stack file): Spot is dearer, and Karpenter"
        " drops it",
        "nothing: it starts on-demand",
    )


@pytest.mark.parametrize(
    ("operation", "subject", "action", "refusal", "fix"),
    [
        ("GetRole", "AWSServiceRoleForEC2Spot", "iam:GetRole", DENIED, "allow iam:GetRole, then run again"),
        ("GetRole", "AWSServiceRoleForEC2Spot", "iam:GetRole", THROTTLED, "run again later"),
        (
            "GetSpotPlacementScores",
            "rtx-pro-6000 score",
            "ec2:GetSpotPlacementScores",
            DENIED_EC2,
            "allow ec2:GetSpotPlacementScores, then run again",
        ),
        (
            "GetSpotPlacementScores",
            "rtx-pro-6000 score",
            "ec2:GetSpotPlacementScores",
            Refusal("MaxConfigLimitExceeded"),
            "run again later",
        ),
        (
            "DescribeSpotPriceHistory",
            "rtx-pro-6000 price",
            "ec2:DescribeSpotPriceHistory",
            DENIED_EC2,
            "allow ec2:DescribeSpotPriceHistory, then run again",
        ),
    ],
)
def test_what_nobody_tells_is_unknown(asked, cloud, operation, subject, action, refusal, fix):
    cloud.on(operation, refusal)
    found = lines(spot.check(asked()))
    assert found[subject] == ("unknown", f"{action}: AWS answers {refusal.code}: {refusal.message}", fix)
    assert [it for key, (it, *_) in found.items() if it != "ok" and key != subject] == []


def test_prices_against_moto(real):
    stack = real()
    pool = stack.stack.settings.pools["rtx-pro-6000"]
    found = spot.prices(stack.aws.client("ec2"), pool, ("us-west-2a", "us-west-2b"))
    assert {kind for kind, _ in found} == {"g7e.2xlarge", "g7e.4xlarge"}
    assert {zone for _, zone in found} <= {"us-west-2a", "us-west-2b"}
