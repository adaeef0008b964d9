"""Reservations that pools name: there, open, and of use to their nodes."""

from datetime import UTC, datetime

import pytest

from ops.preflight.capacity import reservations
from tests.ops.preflight.cloud import DENIED_EC2, Refusal

ID = "cr-0123456789abcdef0"
SUBJECT = f"rtx-pro-6000 {ID}"
AT = datetime(2026, 12, 24, 18, 30, tzinfo=UTC)


def named(*ids):
    def change(settings):
        settings["gpuPools"]["rtx-pro-6000"]["capacity"] = {"reserved": {"ids": list(ids)}}

    return change


def one(**more):
    return {
        "CapacityReservations": [
            {
                "CapacityReservationId": ID,
                "InstanceType": "g7e.2xlarge",
                "InstancePlatform": "Linux/UNIX",
                "AvailabilityZone": "us-west-2a",
                "TotalInstanceCount": 4,
                "AvailableInstanceCount": 3,
                "State": "active",
                **more,
            }
        ]
    }


def lines(findings):
    return [(it.verdict, it.subject, it.found, it.fix) for it in findings]


def test_without_reservations_nothing_is_asked(asked, cloud):
    assert lines(reservations.check(asked())) == [("ok", "-", "no pool names a reservation", "")]
    assert cloud.asked == []


IDS = "gpuPools.rtx-pro-6000.capacity.reserved.ids"


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (one(), ("ok", SUBJECT, "3 of 4 g7e.2xlarge free in us-west-2a, active", "")),
        (
            one(State="scheduled", StartDate=AT),
            (
                "warn",
                SUBJECT,
                "3 of 4 g7e.2xlarge free in us-west-2a, scheduled; begins 2026-12-24 18:30 UTC",
                "no node before that",
            ),
        ),
        (
            one(State="pending"),
            (
                "warn",
                SUBJECT,
                "3 of 4 g7e.2xlarge free in us-west-2a, pending; begins at a time that EC2 does not say",
                "no node before that",
            ),
        ),
        (
            one(EndDate=AT),
            (
                "warn",
                SUBJECT,
                "3 of 4 g7e.2xlarge free in us-west-2a, active; ends 2026-12-24 18:30 UTC",
                "nothing, or another one by then: its nodes end with it",
            ),
        ),
        (
            one(State="expired", AvailableInstanceCount=0),
            ("fail", SUBJECT, "0 of 4 g7e.2xlarge free in us-west-2a, expired", f"another reservation in {IDS}"),
        ),
        (
            one(InstanceType="p5.48xlarge"),
            (
                "fail",
                SUBJECT,
                "of p5.48xlarge; the pool has g7e.2xlarge, g7e.4xlarge",
                f"gpuPools.rtx-pro-6000.instanceTypes, or {IDS}",
            ),
        ),
        (
            one(AvailabilityZone="us-west-2d"),
            ("fail", SUBJECT, "in us-west-2d; the stack is in us-west-2a, us-west-2b", f"network.zones, or {IDS}"),
        ),
        (
            one(InstancePlatform="Windows"),
            ("fail", SUBJECT, "of platform Windows; nodes are Linux/UNIX", f"correct {IDS}"),
        ),
        (
            Refusal("InvalidCapacityReservationId.NotFound"),
            ("fail", SUBJECT, "EC2 has none of this id here", f"correct {IDS}"),
        ),
        ({"CapacityReservations": []}, ("fail", SUBJECT, "EC2 has none of this id here", f"correct {IDS}")),
        (
            DENIED_EC2,
            (
                "unknown",
                SUBJECT,
                "ec2:DescribeCapacityReservations: AWS answers UnauthorizedOperation: You are not authorized",
                "allow ec2:DescribeCapacityReservations, then run again",
            ),
        ),
    ],
    ids=[
        *("open", "scheduled", "pending", "with an end", "over", "another type", "another zone", "windows"),
        *("not there", "no answer of it", "denied"),
    ],
)
def test_a_reservation_is_told_with_what_hinders_its_nodes(asked, cloud, answer, expected):
    cloud.on("DescribeCapacityReservations", answer)
    assert lines(reservations.check(asked(named(ID)))) == [expected]


def test_one_that_is_not_there_hides_no_other(asked, cloud):
    other = "cr-0fedcba9876543210"
    cloud.on("DescribeCapacityReservations", Refusal("InvalidCapacityReservationId.NotFound"), one())
    found = lines(reservations.check(asked(named(other, ID))))
    assert [(it[0], it[1]) for it in found] == [("fail", f"rtx-pro-6000 {other}"), ("ok", SUBJECT)]
    assert [it["CapacityReservationIds"] for it in cloud.times("DescribeCapacityReservations")] == [[other], [ID]]
