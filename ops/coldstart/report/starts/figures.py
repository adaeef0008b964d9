"""Figures of one start, and of several: what was not seen is no 0."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from statistics import median
from typing import Any

from ops.coldstart.record import Record
from serving.budget.timeline import Phase
from serving.techniques.cache_restore import CACHE_RESTORE
from serving.techniques.front.sleep_mode import SLEEP_MODE

PULL: Phase = "image pull"
ENGINE_INIT: tuple[Phase, ...] = ("compile", "kernels", "graphs")
"""What vLLM sums up as `init engine took` (serving/budget/baseline.py: article 000's 94.0 s)."""

_OF_A_TECHNIQUE: Mapping[Phase, str] = {"restore": CACHE_RESTORE.name, "priming": SLEEP_MODE.name}
"""Phases that only a technique brings: without it they take 0 s, whatever was seen."""

_NOTHING = 0.0005
"""Seconds that are 0 in the milliseconds of a record."""


def seconds(record: Record, phase: Phase) -> float | None:
    """Return how long a phase took, 0.0 where the record itself says that it did not happen; None: nobody can tell.

    A pull of 0 s is one only with kubelet's `already present`.
    """
    span = record.phases.get(phase)
    if phase == PULL and (span is None or span.seconds < _NOTHING):
        return 0.0 if record.pull == "already present" else None
    if span is not None:
        return span.seconds
    if phase == "compile" and record.compile == "none":
        return 0.0
    needs = _OF_A_TECHNIQUE.get(phase)
    return 0.0 if needs and needs not in record.subject.techniques else None


def engine_init(record: Record) -> float | None:
    """Return the seconds of an engine's initialisation, of its phases that were seen; None: none was."""
    seen = [it for phase in ENGINE_INIT if (it := seconds(record, phase)) is not None]
    return sum(seen) if any(phase in record.phases for phase in ENGINE_INIT) else None


@dataclass(frozen=True)
class Spread:
    """Of several starts, in seconds."""

    median: float
    least: float
    most: float
    n: int

    def document(self) -> dict[str, Any]:
        """Return it as JSON has it, in milliseconds."""
        return {"median": round(self.median, 3), "min": round(self.least, 3), "max": round(self.most, 3), "n": self.n}


def spread(values: Iterable[float | None]) -> Spread | None:
    """Return the spread of those that are known; None: none is."""
    known = [it for it in values if it is not None]
    return Spread(median(known), min(known), max(known), len(known)) if known else None


def text(value: float) -> str:
    """Return seconds as people read them: tenths, and hundredths below a second."""
    return f"{value:.2f}" if 0.005 <= value < 0.995 else f"{value:.1f}"


def ranged(of: Spread) -> str:
    """Return least and most; one figure when they are the same."""
    low, high = text(of.least), text(of.most)
    return low if low == high else f"{low}\u2013{high}"


def signed(value: float) -> str:
    """Return a difference of seconds: `+0.3`, `-110.0`; one that shows nothing has no sign."""
    shown = text(abs(value))
    return shown if not float(shown) else f"{'-' if value < 0 else '+'}{shown}"
