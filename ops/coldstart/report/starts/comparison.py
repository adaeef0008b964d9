"""Configurations beside each other, step by step, as in article 000's table of results.

Of starts that count alone: what fills a cache is expected to gain nothing.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from ops.coldstart.record import Record
from ops.coldstart.report.starts.configuration import SOURCES, Runs, Setting, Source
from ops.coldstart.report.starts.figures import PULL, Spread, engine_init, seconds, spread
from serving.budget.timeline import STARTS, Start

Figure = Literal["ready", "total", "first token", "image pull", "weights", "engine init", "compile"]

TAKEN: Mapping[Figure, Callable[[Record], float | None]] = {
    "ready": lambda it: it.ready,
    "total": lambda it: it.total,
    "first token": lambda it: it.first_token,
    "image pull": lambda it: seconds(it, PULL),
    "weights": lambda it: it.said.get("weights", seconds(it, "weights")),
    "engine init": lambda it: it.said.get("engine init", engine_init(it)),
    "compile": lambda it: it.said.get("compile", seconds(it, "compile")),
}
"""Of weights, engine init and compile what the engine's log says of itself, as article 000 takes them (section 8); a
log that does not say leaves what was seen of the phases."""

BESIDE: tuple[Figure, ...] = ("first token", "image pull", "weights", "engine init", "compile")
"""Columns after the first one, which is the seconds of the whole start."""

ALREADY_PRESENT = "already present"


@dataclass(frozen=True)
class Change:
    """From another row to this one."""

    seconds: float
    """Below 0: faster."""
    share: float | None
    """Of the other row's seconds; None: those are 0."""
    doubtful: bool
    """Smaller than what a readiness probe may be late by."""

    def document(self) -> dict[str, Any]:
        """Return it as JSON has it."""
        share = None if self.share is None else round(self.share, 4)
        return {"seconds": round(self.seconds, 3), "share": share, "withinProbePeriod": self.doubtful}


@dataclass(frozen=True)
class Row:
    """One configuration."""

    name: str
    n: int
    """Starts that count. 0: none was measured."""
    figures: Mapping[Figure, Spread]
    """Without those that nobody saw."""
    present: bool
    """Whether kubelet said of every start that the image was there already."""
    left_out: int
    """Load runs, which do not count."""
    to_before: Change | None = None
    """Against the row before that has a figure."""
    to_first: Change | None = None
    """Against the first row that has a figure; None: it is this one, or it has none."""


@dataclass(frozen=True)
class Comparison:
    """All configurations of a setting in one kind of start."""

    start: Start
    source: Source
    measure: Literal["ready", "total"]
    """What the whole start is measured by: readiness where a row has it, else until it served."""
    rows: tuple[Row, ...]


def comparisons(setting: Setting) -> tuple[Comparison, ...]:
    """Return a comparison for each kind of start that was measured, by source."""
    return tuple(
        _comparison(start, source, runs)
        for start in STARTS
        for source in SOURCES
        if (runs := list(_of(setting, start, source)))
    )


def _of(setting: Setting, start: Start, source: Source) -> Iterator[tuple[str, float | None, Sequence[Runs]]]:
    for it in setting.configurations:
        if runs := [of for of in it.runs if (of.start, of.source) == (start, source)]:
            yield it.name, it.subject.probe_seconds, runs


def _comparison(
    start: Start,
    source: Source,
    each: Sequence[tuple[str, float | None, Sequence[Runs]]],
) -> Comparison:
    counted = [record for _, _, runs in each for of in runs if of.counted for record in of.records]
    measure: Literal["ready", "total"] = "ready" if any(it.ready is not None for it in counted) else "total"
    rows: list[Row] = []
    known: list[tuple[Spread, float]] = []
    for name, period, runs in each:
        row = _row(name, runs)
        if whole := row.figures.get(measure):
            late = (period or 0.0) if measure == "ready" else 0.0
            before, first = (_change(*known[place], whole, late) if known else None for place in (-1, 0))
            row = Row(row.name, row.n, row.figures, row.present, row.left_out, before, first)
            known.append((whole, late))
        rows.append(row)
    return Comparison(start, source, measure, tuple(rows))


def _row(name: str, runs: Sequence[Runs]) -> Row:
    counted = [record for of in runs if of.counted for record in of.records]
    figures = {figure: found for figure, taken in TAKEN.items() if (found := spread(map(taken, counted)))}
    present = bool(counted) and all(record.pull == ALREADY_PRESENT for record in counted)
    return Row(name, len(counted), figures, present, sum(len(of.records) for of in runs if not of.counted))


def _change(one: Spread, late: float, other: Spread, other_late: float) -> Change:
    """From one to the other."""
    difference = other.median - one.median
    share = difference / one.median if one.median else None
    return Change(difference, share, doubtful=abs(difference) < max(late, other_late))
