"""Where EC2 has the types of the pools and of the system nodes."""

import pytest

from ops.preflight.capacity import offerings
from tests.ops.preflight.cloud import DENIED_EC2, Refusal
from tests.ops.preflight.conftest import everywhere


def without(*missing):
    def say(params):
        found = everywhere(params)["InstanceTypeOfferings"]
        return {"InstanceTypeOfferings": [it for it in found if (it["InstanceType"], it["Location"]) not in missing]}

    return say


def lines(findings):
    return [(it.verdict, it.subject, it.found, it.fix) for it in findings]


SYSTEM = ("ok", "system nodes", "m7i.large in us-west-2a, us-west-2b", "")
FEWER = "nothing, or other network.zones: gpuPools.rtx-pro-6000 has fewer places to start in"


def test_everything_everywhere_is_a_line_for_each_pool(asked, cloud):
    assert lines(offerings.check(asked())) == [
        ("ok", "rtx-pro-6000", "g7e.2xlarge, g7e.4xlarge in us-west-2a, us-west-2b", ""),
        SYSTEM,
    ]
    (request,) = cloud.times("DescribeInstanceTypeOfferings")
    assert request["LocationType"] == "availability-zone"


def test_a_type_that_some_zones_lack_is_a_warning_that_names_them(asked, cloud):
    cloud.on("DescribeInstanceTypeOfferings", without(("g7e.2xlarge", "us-west-2b")))
    assert lines(offerings.check(asked())) == [
        ("warn", "rtx-pro-6000 g7e.2xlarge", "not in us-west-2b; in us-west-2a", FEWER),
        SYSTEM,
    ]


def test_a_type_that_is_nowhere_is_a_warning_while_others_are_there(asked, cloud):
    gone = [("g7e.2xlarge", zone) for zone in ("us-west-2a", "us-west-2b")]
    cloud.on("DescribeInstanceTypeOfferings", without(*gone))
    assert lines(offerings.check(asked()))[0] == (
        "warn",
        "rtx-pro-6000 g7e.2xlarge",
        "not in us-west-2a, us-west-2b; other types of the pool are there",
        FEWER,
    )


def test_an_empty_answer_fails_for_pools_and_system_nodes(asked, cloud):
    cloud.on("DescribeInstanceTypeOfferings", {"InstanceTypeOfferings": []})
    assert lines(offerings.check(asked())) == [
        (
            "fail",
            "rtx-pro-6000",
            "none of g7e.2xlarge, g7e.4xlarge in us-west-2a, us-west-2b",
            "other network.zones, or other gpuPools.rtx-pro-6000.instanceTypes",
        ),
        (
            "fail",
            "system nodes",
            "none of m7i.large in us-west-2a, us-west-2b",
            "other cluster.systemNodes.instanceTypes",
        ),
    ]


def test_system_nodes_need_a_type_in_each_of_their_zones(asked, cloud):
    cloud.on("DescribeInstanceTypeOfferings", without(("m7i.large", "us-west-2b")))
    assert lines(offerings.check(asked()))[1] == (
        "fail",
        "system nodes",
        "none of m7i.large in us-west-2b",
        "other cluster.systemNodes.instanceTypes",
    )


def test_all_pages_are_read(asked, cloud):
    def half(zone, **more):
        def say(params):
            found = everywhere(params)["InstanceTypeOfferings"]
            return {"InstanceTypeOfferings": [it for it in found if it["Location"] == zone], **more}

        return say

    cloud.on("DescribeInstanceTypeOfferings", half("us-west-2a", NextToken="2"), half("us-west-2b"))
    assert {it.verdict for it in offerings.check(asked())} == {"ok"}


@pytest.mark.parametrize(
    ("refusal", "fix"),
    [
        (DENIED_EC2, "allow ec2:DescribeInstanceTypeOfferings, then run again"),
        (Refusal("RequestLimitExceeded", "slow"), "run again later"),
    ],
    ids=["denied", "throttled"],
)
def test_what_nobody_tells_is_unknown(asked, cloud, refusal, fix):
    cloud.on("DescribeInstanceTypeOfferings", refusal)
    why = f"ec2:DescribeInstanceTypeOfferings: AWS answers {refusal.code}: {refusal.message}"
    assert lines(offerings.check(asked())) == [("unknown", "-", why, fix)]


def test_against_moto_which_has_the_types_of_the_dev_stack(real):
    assert {(it.subject.split()[0], it.verdict) for it in offerings.check(real())} == {
        ("rtx-pro-6000", "ok"),
        ("system", "ok"),
    }
