"""Schedules of a week, as cron spells them: one time of some days.

Days of a month, months, steps and several hours have no place here: what is stopped and started, or allowed for a
while, must have a known distance to its neighbours.
"""

import re

DAYS = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")
DAY, WEEK = 24 * 60, 7 * 24 * 60

_SCHEDULE = re.compile(r"([0-5]?[0-9]) ([01]?[0-9]|2[0-3]) \* \* (\*|[a-z0-9,-]+)")


def times(schedule: str) -> list[int]:
    """Return the minutes since Sunday 00:00 at which a schedule strikes, in order; none where it cannot be read."""
    read = _SCHEDULE.fullmatch(schedule)
    if not read:
        return []
    try:
        days = _days("0-6" if read[3] == "*" else read[3])
    except KeyError:
        return []
    return sorted(day * DAY + int(read[2]) * 60 + int(read[1]) for day in days)


def _days(text: str) -> set[int]:
    """Return the days of a week (0 is Sunday) of a cron field: names, numbers, ranges, lists.

    Raises:
        KeyError: what cron does not know: 7, a range that ends before it begins.
    """
    numbers = {name: number for number, name in enumerate(DAYS)} | {str(number): number for number in range(7)}
    days: set[int] = set()
    for part in text.split(","):
        first, dash, last = part.partition("-")
        start, end = numbers[first], numbers[last if dash else first]
        if end < start:
            raise KeyError(part)
        days |= set(range(start, end + 1))
    return days
