"""A schedule of a week, read as cron reads it or not at all."""

import pytest

from infra.weekly import times

DAY = 1440


@pytest.mark.parametrize(
    ("schedule", "days", "minute"),
    [
        ("0 20 * * mon-fri", (1, 2, 3, 4, 5), 1200),
        ("30 7 * * 1-5", (1, 2, 3, 4, 5), 450),
        ("05 07 * * sun,wed-thu,6", (0, 3, 4, 6), 425),
        ("59 23 * * *", tuple(range(7)), 1439),
        ("0 0 * * mon,mon", (1,), 0),
    ],
)
def test_a_time_of_some_days_is_minutes_since_sunday(schedule: str, days: tuple[int, ...], minute: int) -> None:
    assert times(schedule) == [day * DAY + minute for day in days]


@pytest.mark.parametrize(
    "schedule",
    [
        *("", "0 20 * *", "0 20 * * mon fri", "60 20 * * mon", "0 24 * * mon", "-1 20 * * mon", "*/5 20 * * mon"),
        *("0 8,20 * * mon", "0 8-20 * * mon", "0 20 1 * *", "0 20 * 1 mon", "0 20 * * 7", "0 20 * * fri-mon"),
        *("0 20 * * mon-", "0 20 * * ,mon", "0 20 * * monday", "0 20 * * Mon", "@daily", "TZ=UTC 0 20 * * mon"),
        *("0 20 * * mon\n", " 0 20 * * mon", "0  20 * * mon", "\u0660 20 * * mon"),
    ],
)
def test_what_is_no_time_of_some_days_has_no_times(schedule: str) -> None:
    assert times(schedule) == []
