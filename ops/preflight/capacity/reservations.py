"""Whether the capacity reservations that pools name are there, open, and of a kind and place that nodes can use."""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from infra.gpu_pools import GpuPool
from ops.preflight.asking import Asked, NoAnswer, answer
from ops.preflight.finding import Finding, fail, ok, warn

LINUX = "Linux/UNIX"
"""The platform that EC2 counts Bottlerocket and Amazon Linux in."""

COMING = frozenset({"pending", "assessing", "scheduled", "payment-pending"})
"""States of a reservation, or a capacity block, that is not open yet (API model of EC2, CapacityReservationState)."""


def check(asked: Asked) -> Iterator[Finding]:
    """Ask EC2 for each reservation by itself, as one that is not there hides all that are asked for with it."""
    settings, ec2 = asked.stack.settings, asked.aws.client("ec2")
    named = {name: pool.capacity.reserved.ids for name, pool in settings.pools.items() if pool.capacity.reserved}
    if not named:
        yield ok("-", "no pool names a reservation")
    for name, ids in named.items():
        for each in ids:
            there: list[Mapping[str, Any]] | NoAnswer = answer(
                "ec2:DescribeCapacityReservations",
                partial(described, ec2, each),
                absent={"InvalidCapacityReservationId.NotFound": [], "InvalidCapacityReservationId.Malformed": []},
            )
            if isinstance(there, NoAnswer):
                yield there.about(f"{name} {each}")
            else:
                yield finding(name, settings.pools[name], settings.network.zones, each, there)


def described(ec2: Any, reservation: str) -> list[Mapping[str, Any]]:
    """Return what EC2 says of one reservation."""
    found: list[Mapping[str, Any]] = ec2.describe_capacity_reservations(CapacityReservationIds=[reservation])[
        "CapacityReservations"
    ]
    return found


def finding(
    name: str, pool: GpuPool, zones: Sequence[str], reservation: str, there: Sequence[Mapping[str, Any]]
) -> Finding:
    """Return what one reservation is good for.

    Args:
        name: of the pool.
        pool: names the reservation.
        zones: of the stack's subnets.
        reservation: its id.
        there: what EC2 says of it; empty: it has none of this id.
    """
    subject = f"{name} {reservation}"
    where = f"gpuPools.{name}.capacity.reserved.ids"
    if not there:
        return fail(subject, "EC2 has none of this id here", f"correct {where}")
    it = there[0]
    kind, zone, state = it["InstanceType"], it["AvailabilityZone"], it["State"]
    types = [each.name for each in pool.types]
    if kind not in types:
        return fail(
            subject, f"of {kind}; the pool has {', '.join(types)}", f"gpuPools.{name}.instanceTypes, or {where}"
        )
    if zone not in zones:
        return fail(subject, f"in {zone}; the stack is in {', '.join(zones)}", f"network.zones, or {where}")
    if it["InstancePlatform"] != LINUX:
        return fail(subject, f"of platform {it['InstancePlatform']}; nodes are {LINUX}", f"correct {where}")
    free, whole = it["AvailableInstanceCount"], it["TotalInstanceCount"]
    found = f"{free} of {whole} {kind} free in {zone}, {state}"
    if state in COMING:
        return warn(subject, f"{found}; begins {_time(it.get('StartDate'))}", "no node before that")
    if state != "active":
        return fail(subject, found, f"another reservation in {where}")
    if end := it.get("EndDate"):
        return warn(subject, f"{found}; ends {_time(end)}", "nothing, or another one by then: its nodes end with it")
    return ok(subject, found)


def _time(moment: Any) -> str:
    return moment.strftime("%Y-%m-%d %H:%M UTC") if moment else "at a time that EC2 does not say"
