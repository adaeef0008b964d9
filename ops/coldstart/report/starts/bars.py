"""What a waterfall shows of several starts: a bar for each phase, one for what is in none, and one for the whole."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from math import ceil
from typing import Literal

from ops.coldstart.record import Record
from ops.coldstart.report.starts.figures import PULL, Spread, seconds, spread
from serving.budget.timeline import PHASES, Phase

Family = Literal["machine", "image", "cache", "imports", "weights", "engine", "serving", "unattributed"]

FAMILIES: Mapping[Family, tuple[Phase, ...]] = {
    "machine": ("node", "scheduling"),
    "image": ("image pull", "container start"),
    "cache": ("restore",),
    "imports": ("imports", "model inspection", "engine imports"),
    "weights": ("weights",),
    "engine": ("compile", "kernels", "graphs"),
    "serving": ("API start", "priming", "readiness", "wake"),
    "unattributed": (),
}
"""Phases that have one colour and one pattern."""

FAMILY_OF: Mapping[Phase, Family] = {phase: family for family, phases in FAMILIES.items() for phase in phases}

UNATTRIBUTED, TOTAL = "unattributed", "total"


@dataclass(frozen=True)
class Bar:
    """Of one phase, of what is in none, or of the whole start."""

    label: str
    family: Family | None
    """None: the whole start."""
    begin: float
    """Seconds. Where the medians before it end: seconds in no phase, which lie between phases, come last."""
    of: Spread


def phases(records: Sequence[Record]) -> dict[Phase, Spread]:
    """Return the phases that were seen in any start, in order; an image that was always there is a pull of 0 s."""
    found: dict[Phase, Spread] = {}
    for phase in PHASES:
        known = spread(seconds(record, phase) for record in records)
        if known and (phase == PULL or any(phase in record.phases for record in records)):
            found[phase] = known
    return found


def bars(records: Sequence[Record]) -> tuple[Bar, ...]:
    """Return the bars of starts that may be put together: phases, then what is in none, then the whole."""
    if not records:
        return ()
    each = [(str(phase), FAMILY_OF[phase], of) for phase, of in phases(records).items()]
    rest = spread(record.unattributed for record in records)
    whole = spread(record.total for record in records)
    if rest is None or whole is None:
        raise AssertionError("every record has both")
    each.append((UNATTRIBUTED, "unattributed", rest))
    begins = accumulate((of.median for _, _, of in each[:-1]), initial=0.0)
    laid = [Bar(label, family, begin, of) for (label, family, of), begin in zip(each, begins, strict=True)]
    return (*laid, Bar(TOTAL, None, 0.0, whole))


def reach(laid: Sequence[Bar]) -> float:
    """Return the seconds that an axis must have for them, whiskers too."""
    return max((bar.begin + bar.of.most for bar in laid), default=0.0)


STEPS = (0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600)
MOST_TICKS = 6


def ticks(longest: float) -> tuple[float, ...]:
    """Return the seconds that an axis names, from 0 on; the last is not before `longest`."""
    hours = STEPS[-1] * ceil(longest / (MOST_TICKS - 1) / STEPS[-1])
    step = next((it for it in STEPS if it * (MOST_TICKS - 1) >= longest), hours)
    count = max(1, ceil(longest / step))
    return tuple(round(step * place, 3) for place in range(count + 1))
