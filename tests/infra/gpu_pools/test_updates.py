"""Karpenter's budgets forbid; a window allows. Every minute of a week is looked at, as the controller looks at it."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tests.infra.gpu_pools.pools import pool, refusals

SUNDAY = datetime(2026, 11, 1, tzinfo=UTC)
NAMES = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")
WEEK = timedelta(days=7)


def length(duration: str) -> timedelta:
    hours, rest = duration.split("h")
    return timedelta(hours=int(hours), minutes=int(rest.removesuffix("m") or 0))


def active(budget: dict[str, Any], now: datetime) -> bool:
    """Karpenter v1.14.1, pkg/apis/v1/nodepool.go, IsActive: the next hit after (now - duration) is not after now."""
    if "schedule" not in budget:
        return True
    minute, hour, day, month, days = budget["schedule"].split()
    assert (day, month) == ("*", "*")
    start = SUNDAY - 2 * WEEK
    hits = [
        start + timedelta(days=index, hours=int(hour), minutes=int(minute))
        for index in range(28)
        if NAMES[(start + timedelta(days=index)).isoweekday() % 7] in days.split(",")
    ]
    return min(hit for hit in hits if hit > now - length(budget["duration"])) <= now


def allowed(window: Any) -> set[int]:
    """The minutes of a week in which a drifted node may be replaced."""
    budgets = pool(updateWindow=window).update_window.budgets
    assert budgets[0] == {"nodes": "1"}
    return {
        minute
        for minute in range(7 * 24 * 60)
        if not any(active(budget, SUNDAY + timedelta(minutes=minute)) for budget in budgets[1:])
    }


def span(day: int, hour: int, minute: int, minutes: int) -> set[int]:
    start = day * 1440 + hour * 60 + minute
    return {at % (7 * 1440) for at in range(start, start + minutes)}


WINDOWS = [
    ("0 9 * * sat", "4h", span(6, 9, 0, 240)),
    ("0 9 * * 6", "240m", span(6, 9, 0, 240)),
    ("30 22 * * sat", "6h", span(6, 22, 30, 360)),
    ("30 2 * * mon-fri", "90m", set().union(*(span(day, 2, 30, 90) for day in range(1, 6)))),
    ("0 0 * * *", "1h", set().union(*(span(day, 0, 0, 60) for day in range(7)))),
    ("15 20 * * mon,wed,thu", "30h", set().union(*(span(day, 20, 15, 1800) for day in (1, 3, 4)))),
]


@pytest.mark.parametrize(("schedule", "duration", "meant"), WINDOWS)
def test_nodes_are_replaced_in_the_window_and_at_no_other_minute(schedule: str, duration: str, meant: set[int]) -> None:
    assert allowed({"schedule": schedule, "duration": duration}) == meant


def test_always_and_never() -> None:
    assert pool(updateWindow="always").update_window.budgets == [{"nodes": "1"}]
    assert pool(updateWindow="never").update_window.budgets == [{"nodes": "1"}, {"nodes": "0", "reasons": ["Drifted"]}]


def test_only_drift_is_bound_to_the_window() -> None:
    """An empty node goes at any time: it costs money and nobody waits for it."""
    _, *outside = pool(updateWindow={"schedule": "0 9 * * sat", "duration": "4h"}).update_window.budgets
    assert outside == [{"nodes": "0", "reasons": ["Drifted"], "schedule": "0 13 * * sat", "duration": "164h0m"}]


WRONG = [
    (
        {"schedule": "0 9 * * sat"},
        "updateWindow.duration: missing; expected the window's length: a number of minutes or hours such as 30m or 4h",
    ),
    (
        {"duration": "4h"},
        "updateWindow.schedule: missing; expected the window's start in UTC as cron spells it, at one"
        ' time of some days: "0 9 * * sat"',
    ),
    (
        {"schedule": "0 9 * * sat", "duration": "4"},
        'updateWindow: {"schedule": "0 9 * * sat", "duration": "4"}; duration "4" is not a number of minutes or hours'
        " such as 30m or 4h",
    ),
    (
        {"schedule": "0 9 * * 7", "duration": "4h"},
        'updateWindow: {"schedule": "0 9 * * 7", "duration": "4h"}; schedule "0 9 * * 7" is not a time of some days;'
        " expected minute, hour, * * and days in UTC (0 to 6 from Sunday, or sun to sat), for example"
        ' "0 9 * * sat,sun" or "30 2 * * mon-fri"',
    ),
    (
        {"schedule": "0 9 1 * *", "duration": "4h"},
        'updateWindow: {"schedule": "0 9 1 * *", "duration": "4h"}; schedule "0 9 1 * *" is not a time of some days;'
        " expected minute, hour, * * and days in UTC (0 to 6 from Sunday, or sun to sat), for example"
        ' "0 9 * * sat,sun" or "30 2 * * mon-fri"',
    ),
    (
        {"schedule": "0 9 * * *", "duration": "24h"},
        'updateWindow: {"schedule": "0 9 * * *", "duration": "24h"}; 24h leaves no time outside; expected a shorter'
        " window, or always",
    ),
    ("weekends", 'updateWindow: "weekends"; expected always, never or {schedule: ..., duration: ...}'),
]


@pytest.mark.parametrize(("window", "line"), WRONG, ids=lambda value: str(value)[:40])
def test_a_window_that_cannot_be_kept_is_refused(window: Any, line: str) -> None:
    assert refusals(updateWindow=window) == [line]


def test_a_pool_that_pre_pulls_is_not_replaced_at_every_release() -> None:
    """Each new image reference changes userData, and with it every node (KRP-03)."""
    assert refusals(techniques=["image-prepull"], updateWindow="always") == [
        'updateWindow: "always"; with image-prepull each new image replaces all nodes; expected never or a window'
    ]
