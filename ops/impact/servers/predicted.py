"""Predicted starts, before and after, out of the stack output `servers.<name>.predicted`."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pydantic.alias_generators import to_camel

from serving.budget.timeline import PHASES, STARTS, Start

TOTAL = "total"
_SAME = 0.05
"""Seconds below which two figures are one: they are rounded to a tenth."""


@dataclass(frozen=True, kw_only=True)
class Starts:
    """The starts of a server on the type of its pool that is the slowest from nothing."""

    type: str
    seconds: Mapping[Start, float]
    """In all. A start that cannot be is left out."""
    phases: Mapping[Start, Mapping[str, float]]
    """By phase, as `serving.budget.timeline` calls it, in its order."""


@dataclass(frozen=True, kw_only=True)
class Row:
    """A phase (or the total) whose seconds differ on any start."""

    phase: str
    pairs: Mapping[Start, tuple[float | None, float | None]]
    """Before and after. None: the phase does not happen there, or the start cannot be."""


def starts(server: Mapping[str, Any] | None) -> Starts | None:
    """Return the starts that a server's output tells; None where it tells none, as of an older platform.

    A fresh node may be of any type of the pool, so what is promised is the slowest.
    """
    types: Mapping[str, Mapping[str, Any]] = (server or {}).get("predicted") or {}
    if not types:
        return None
    name = max(types, key=lambda it: float(types[it].get(_camel("fresh node"), {}).get("seconds", 0)))
    told = {start: types[name][_camel(start)] for start in STARTS if _camel(start) in types[name]}
    return Starts(
        type=name,
        seconds={start: float(it["seconds"]) for start, it in told.items()},
        phases={start: _phases(it["phases"]) for start, it in told.items()},
    )


def rows(before: Starts | None, after: Starts | None) -> tuple[Row, ...]:
    """Return the phases whose seconds differ, and the total last, which is always there."""
    names = [phase for phase in PHASES if _pairs(before, after, phase)[1]]
    return (
        *(Row(phase=phase, pairs=_pairs(before, after, phase)[0]) for phase in names),
        Row(phase=TOTAL, pairs={start: (_total(before, start), _total(after, start)) for start in STARTS}),
    )


def differ(before: float | None, after: float | None) -> bool:
    """Whether two figures are not the same."""
    if before is None or after is None:
        return before is not after
    return abs(after - before) > _SAME


def _pairs(
    before: Starts | None, after: Starts | None, phase: str
) -> tuple[dict[Start, tuple[float | None, float | None]], bool]:
    pairs = {start: (_phase(before, start, phase), _phase(after, start, phase)) for start in STARTS}
    return pairs, any(differ(*pair) for pair in pairs.values())


def _phase(of: Starts | None, start: Start, phase: str) -> float | None:
    return of.phases[start].get(phase) if of and start in of.phases else None


def _total(of: Starts | None, start: Start) -> float | None:
    return of.seconds.get(start) if of else None


def _phases(told: Mapping[str, Mapping[str, Any]]) -> dict[str, float]:
    names = {_camel(phase): phase for phase in PHASES}
    return {names.get(name, name): float(it["seconds"]) for name, it in told.items()}


def _camel(words: str) -> str:
    """As outputs spell it."""
    return to_camel(words.lower().replace(" ", "_"))
