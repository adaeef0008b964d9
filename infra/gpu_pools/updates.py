"""When Karpenter may replace a pool's nodes by itself: the disruption budgets, and the durations around them."""

import re
from itertools import pairwise
from typing import Annotated, Any, ClassVar

from pydantic import Field, ModelWrapValidatorHandler, PrivateAttr, StringConstraints, model_validator

from infra.section import Section, shown
from infra.weekly import DAY, DAYS, WEEK, times

_DURATION = re.compile(r"([1-9][0-9]{0,4})(m|h)")
_DURATION_WORDS = "a number of minutes or hours such as 30m or 4h"

Duration = Annotated[str, StringConstraints(pattern=r"^(never|[1-9][0-9]{0,4}(m|h))$")]


def minutes(duration: str) -> float:
    """Return the minutes of `30m`, `4h` or `never`."""
    found = _DURATION.fullmatch(duration)
    return int(found[1]) * (60 if found[2] == "h" else 1) if found else float("inf")


def karpenters(duration: str) -> str:
    """Return a duration as Karpenter spells it."""
    return "Never" if duration == "never" else duration


class UpdateWindow(Section):
    """`gpuPools.<name>.updateWindow`: when nodes that no longer look as the pool wants them are replaced, in UTC.

    Karpenter's budgets say when disruption is forbidden, so a window becomes budgets for the time outside it.
    """

    words: ClassVar[tuple[str, ...]] = ("always", "never")

    schedule: str = Field(
        description='the window\'s start in UTC as cron spells it, at one time of some days: "0 9 * * sat"'
    )
    duration: str = Field(description=f"the window's length: {_DURATION_WORDS}")
    _word: str = PrivateAttr(default="")

    @model_validator(mode="wrap")
    @classmethod
    def _word_or_window(cls, value: Any, handler: ModelWrapValidatorHandler["UpdateWindow"]) -> "UpdateWindow":
        if isinstance(value, str) and value in cls.words:
            made = cls.model_construct(schedule="", duration="")
            made._word = value
            return made
        if not isinstance(value, dict):
            raise ValueError(  # noqa: TRY004 - pydantic turns only ValueError into a line of its report
                f"expected {', '.join(cls.words)} or {{schedule: ..., duration: ...}}"
            )
        window = handler(value)
        window.forbidden()
        return window

    @property
    def always(self) -> bool:
        """Whether nodes may be replaced at any time."""
        return self._word == "always"

    @property
    def never(self) -> bool:
        """Whether nodes are never replaced for a change."""
        return self._word == "never"

    @property
    def budgets(self) -> list[dict[str, Any]]:
        """Return the NodePool's disruption budgets: one node at a time, and no drift outside the window."""
        never = {"nodes": "0", "reasons": ["Drifted"]}
        outside = {"always": [], "never": [never]}.get(self._word)
        if outside is None:
            outside = [{**never, "schedule": schedule, "duration": length} for schedule, length in self.forbidden()]
        return [{"nodes": "1"}, *outside]

    def forbidden(self) -> list[tuple[str, str]]:
        """Return the time outside the window as (schedule, duration) pairs.

        Raises:
            ValueError: the schedule or the duration cannot be read, or no time is left outside.
        """
        starts, length = times(self.schedule), _DURATION.fullmatch(self.duration)
        if not starts:
            raise ValueError(
                f"schedule {shown(self.schedule)} is not a time of some days; expected minute, hour, * * and days in"
                ' UTC (0 to 6 from Sunday, or sun to sat), for example "0 9 * * sat,sun" or "30 2 * * mon-fri"'
            )
        if not length:
            raise ValueError(f"duration {shown(self.duration)} is not {_DURATION_WORDS}")
        ends = [start + int(minutes(self.duration)) for start in starts]
        gaps: dict[tuple[int, int], set[int]] = {}
        for (_, end), (start, _) in pairwise([*zip(starts, ends, strict=True), (starts[0] + WEEK, 0)]):
            if end < start:
                gaps.setdefault((end % DAY, start - end), set()).add(end % WEEK // DAY)
        if not gaps:
            raise ValueError(f"{self.duration} leaves no time outside; expected a shorter window, or always")
        return [
            (f"{begin % 60} {begin // 60} * * {','.join(DAYS[day] for day in sorted(on))}", f"{gap // 60}h{gap % 60}m")
            for (begin, gap), on in sorted(gaps.items())
        ]
