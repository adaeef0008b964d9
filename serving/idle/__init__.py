"""`servers.<name>.idle`: a server that sleeps by the clock, with no pod and, once Karpenter has seen it, no node.

For long idle, such as nights: article 000 (5.4, figure 7) gives short idle to vLLM's sleep mode, which keeps the node.
"""

import re
import zoneinfo
from collections.abc import Iterator
from functools import cache
from typing import Annotated, Any, Self

from pydantic import AfterValidator, Field, model_validator

from infra.gpu_pools import GpuPool
from infra.gpu_pools.updates import minutes
from infra.naming import IDLE_ANNOTATION
from infra.section import Section, nearest
from infra.weekly import WEEK, times

DEADLINE = 30 * 60
"""Seconds that a Job which stops or starts may take, waits for a place and for the API included."""

CLOCK_CHANGE = 60
"""Minutes by which daylight saving may bring two times of a day closer together."""

LEAST_CATCH_UP = 30
"""Minutes in which a time that was missed is made good, at the least."""

LEAST_APART = CLOCK_CHANGE + DEADLINE // 60 + LEAST_CATCH_UP
"""Minutes between stop and start: a late stop must have ended before the start, and the other way round."""

_ZONE = re.compile(r"UTC|[A-Z][\w+-]*(/[A-Z][\w+-]*)+", re.ASCII)
"""Not the short names of old (`Japan`, `EST`): tables of zones have them or not."""


@cache
def _zones() -> frozenset[str]:
    return frozenset(name for name in zoneinfo.available_timezones() if _ZONE.fullmatch(name))


def _zone(value: str) -> str:
    zones = _zones()
    if not zones:
        raise ValueError("this machine has no table of time zones; install one (Python package tzdata)")
    if value not in zones:
        raise ValueError(f"no such time zone; {nearest(value, sorted(zones))}")
    return value


def _weekly(value: str) -> str:
    if not times(value):
        raise ValueError(
            "not a time of some days; expected minute, hour, * * and days (0 to 6 from Sunday, or sun to sat), for"
            ' example "0 20 * * mon-fri"'
        )
    return value


Schedule = Annotated[str, AfterValidator(_weekly)]


class ScheduleSettings(Section):
    """`servers.<name>.idle.schedule`."""

    stop: Schedule = Field(description='when it is stopped, as cron spells one time of some days: "0 20 * * mon-fri"')
    start: Schedule = Field(description='when it is started, as cron spells one time of some days: "30 7 * * mon-fri"')
    time_zone: Annotated[str, AfterValidator(_zone)] = Field(
        description="the IANA name of the time zone that both are told in, for example Asia/Seoul, or UTC"
    )

    @model_validator(mode="after")
    def _apart(self) -> Self:
        least = min(self.asleep, self.awake)
        if not least:
            raise ValueError("stop and start strike at the same minute; expected one of them at another")
        if least < LEAST_APART:
            raise ValueError(
                f"stop and start come within {least} min of each other; expected {LEAST_APART} or more (clock change"
                f" {CLOCK_CHANGE} + Job {DEADLINE // 60} + catching up {LEAST_CATCH_UP})"
            )
        return self

    @property
    def asleep(self) -> int:
        """Minutes from a stop to the start that follows, the shortest of the week."""
        return min(_distances(times(self.stop), times(self.start)))

    @property
    def longest(self) -> int:
        """Minutes of the longest sleep of the week."""
        return max(_distances(times(self.stop), times(self.start)))

    @property
    def awake(self) -> int:
        """Minutes from a start to the stop that follows, the shortest of the week."""
        return min(_distances(times(self.start), times(self.stop)))


def _distances(earlier: list[int], later: list[int]) -> list[int]:
    """Return, for each of the earlier times, the minutes to the next of the later ones."""
    return [min((there - here) % WEEK for there in later) for here in earlier]


def catch_up(until_opposite: int) -> int:
    """Return the seconds after its time in which a stop or a start is still made good.

    Its Job has ended before the opposite one begins, whatever the clock does: after an outage that missed both, the two
    would run at once, and the later patch would win.

    Args:
        until_opposite: minutes to it, `asleep` of a stop and `awake` of a start.
    """
    return (until_opposite - CLOCK_CHANGE) * 60 - DEADLINE


class IdleSettings(Section):
    """`servers.<name>.idle`."""

    schedule: ScheduleSettings = Field(description="when it stops and starts")

    @model_validator(mode="before")
    @classmethod
    def _by_the_clock_alone(cls, value: Any) -> Any:
        if isinstance(value, str) or (isinstance(value, dict) and "after" in value):
            raise ValueError(
                "to stop after some idle time needs an activator, which comes with autoscaling; use a schedule, or the"
                " technique sleep-mode"
            )
        return value


def idle_problems(settings: IdleSettings | None, pool: GpuPool) -> Iterator[str]:
    """Yield why a server's sleep would save nothing on the nodes of its pool."""
    if settings is None:
        return
    longest = settings.schedule.longest
    if longest <= minutes(pool.consolidate_after):
        yield (
            f"sleeps for {longest} min at the most, and its pool keeps empty nodes no shorter (consolidateAfter"
            f" {pool.consolidate_after}): nothing is saved"
        )


def replicas_owner(settings: IdleSettings | None) -> dict[str, str]:
    """Return the annotations of a server's Deployment that settle who decides its number of pods.

    With a schedule the clock does, and `up` ignores the field. A server that loses its schedule loses the first
    annotation: a change of the Deployment, with which `up` says the number again, also while the server sleeps.
    (`replicas` alone would be no change: the state has held the same number all the time.) Who else has set the number
    while pods ran, a Job or `kubectl scale`, owns it by then, and without force the API server would refuse `up` as in
    conflict with them (pulumi-kubernetes#2569).
    """
    owned = {IDLE_ANNOTATION: "schedule"} if settings else {}
    return {**owned, "pulumi.com/patchForce": "true"}
