"""When a server stops and starts: distances between the two, in the week as the clock has it."""

import zoneinfo
from datetime import datetime, timedelta
from typing import Any

import pytest
from pydantic import ValidationError

from serving import idle
from serving.idle import CLOCK_CHANGE, DEADLINE, LEAST_APART, LEAST_CATCH_UP, ScheduleSettings, catch_up

OFFICE = ("0 20 * * mon-fri", "30 7 * * mon-fri")


def schedule(stop: str = OFFICE[0], start: str = OFFICE[1], zone: str = "Asia/Seoul") -> ScheduleSettings:
    return ScheduleSettings.model_validate({"stop": stop, "start": start, "timeZone": zone})


@pytest.mark.parametrize(
    ("stop", "start", "asleep", "longest", "awake"),
    [
        (*OFFICE, 690, 3 * 1440 - 750, 750),
        ("0 20 * * *", "0 8 * * *", 720, 720, 720),
        # over the end of the week
        ("0 22 * * sat", "0 2 * * sun", 240, 240, 6 * 1440 + 1200),
        # a second start wakes nobody, and counts as a start all the same: its Job runs
        ("0 20 * * fri", "0 8 * * sat,mon", 720, 720, 4 * 1440 + 720),
    ],
)
def test_distances_are_those_of_the_week(stop: str, start: str, asleep: int, longest: int, awake: int) -> None:
    found = schedule(stop, start)
    assert (found.asleep, found.longest, found.awake) == (asleep, longest, awake)


ZONES = ("Asia/Seoul", "America/New_York", "Europe/Berlin", "Australia/Lord_Howe", "UTC")


@pytest.mark.parametrize("zone", ZONES)
@pytest.mark.parametrize(("stop", "start"), [OFFICE, ("30 0 * * *", "30 2 * * *"), ("0 23 * * *", "0 4 * * *")])
def test_a_late_job_has_ended_before_the_opposite_one_begins_on_every_day_of_a_year(
    zone: str, stop: str, start: str
) -> None:
    """Both missed in one outage would run at once, and the server end as chance has it."""
    found = schedule(stop, start, zone)
    stops, starts = (strikes(text, zone) for text in (stop, start))
    for earlier, later, until in ((stops, starts, found.asleep), (starts, stops, found.awake)):
        for strike in earlier[:-8]:
            opposite = min(it for it in later if it > strike)
            last_end = strike + timedelta(seconds=catch_up(until) + DEADLINE)
            assert last_end <= opposite, strike


def strikes(text: str, zone: str) -> list[datetime]:
    """The moments of a year, and a week, in UTC."""
    minute, hour, _, _, days = text.split()
    of_week = range(1, 6) if days == "mon-fri" else range(1, 8)
    begin = datetime(2026, 1, 1, int(hour), int(minute), tzinfo=zoneinfo.ZoneInfo(zone))
    local = (begin + timedelta(days=day) for day in range(372))
    return [it.astimezone(zoneinfo.ZoneInfo("UTC")) for it in local if it.isoweekday() in of_week]


def test_the_closest_two_that_are_allowed_can_still_catch_up() -> None:
    assert catch_up(LEAST_APART) == LEAST_CATCH_UP * 60
    assert CLOCK_CHANGE * 60 + DEADLINE + LEAST_CATCH_UP * 60 == LEAST_APART * 60
    assert schedule("0 20 * * *", "0 22 * * *").asleep == LEAST_APART


@pytest.mark.parametrize("zone", ["UTC", "Etc/UTC", "Asia/Seoul", "America/Argentina/Buenos_Aires", "Etc/GMT+9"])
def test_a_zone_of_the_table_is_taken(zone: str) -> None:
    assert schedule(zone=zone).time_zone == zone


@pytest.mark.parametrize(
    "zone", ["", "Local", "localtime", "KST", "Japan", "asia/seoul", "Asia", "Asia/", "../UTC", "Asia/Seoul ", "UTC+9"]
)
def test_what_the_table_does_not_have_is_refused(zone: str) -> None:
    assert [error["msg"].split(";")[0] for error in mistakes(zone=zone)] == ["Value error, no such time zone"]


def test_a_machine_without_a_table_is_not_taken_for_a_wrong_zone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(idle, "_zones", frozenset)
    assert [error["msg"] for error in mistakes(zone="Asia/Seoul")] == [
        "Value error, this machine has no table of time zones; install one (Python package tzdata)"
    ]


def mistakes(**changed: str) -> list[Any]:
    with pytest.raises(ValidationError) as refused:
        schedule(**changed)
    return refused.value.errors()
