"""How long a server is idle at a time: from a file, from the times of requests, or as a distribution.

An interval begins where a busy period ends and ends with the next request. All are in seconds.
"""

import csv
import math
import re
import sys
from collections.abc import Callable, Iterable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from statistics import NormalDist

from ops.failures import UsageError
from ops.markup.output import STANDARD
from ops.terminal import echo

BUSY_GAP = 60.0
"""Seconds between two requests below which the server was busy all the while: nothing that gives a GPU away is back
sooner and has saved anything."""

LONGEST = 366 * 86400.0
"""Seconds. What is longer is not an interval but a mistake of units, or a time since 1970."""

PARTS = 10_000
"""Parts of equal probability that a distribution is cut into; each stands for itself by its own mean, so that the mean
of all is that of the distribution."""

_UNITS = {"d": 86400, "h": 3600, "m": 60, "s": 1}
_PART = r"(\d+(?:\.\d+)?)"
_SPELLED = re.compile("".join(f"(?:{_PART}{unit})?" for unit in _UNITS), re.ASCII)
_FORMS = "seconds, or a time such as 45s, 20m or 1h2m"
_TIMES = frozenset({"timestamp", "time", "@timestamp", "date"})
"""Heads of a CSV column that holds times."""

_P90 = NormalDist().inv_cdf(0.9)

_LATEST = datetime.max.replace(tzinfo=UTC).timestamp()
"""Of the seconds since 1970; milliseconds of this century are more."""


@dataclass(frozen=True, kw_only=True)
class Intervals:
    """What is known of a server's idle time."""

    seconds: Sequence[float]
    """From the shortest to the longest, at least one, all above 0. Each is as likely as the others."""
    busy: float
    """Seconds of a busy period, in the mean; 0: not told."""
    source: str
    """Where they come from, for people."""

    @property
    def mean(self) -> float:
        """Seconds."""
        return math.fsum(self.seconds) / len(self.seconds)

    @property
    def returns_a_day(self) -> float:
        """How often a day it comes back."""
        return 86400 / (self.mean + self.busy)


def duration(text: str) -> float:
    """Return the seconds of `90`, `1.5`, `45s`, `20m` or `1h2m`.

    Raises:
        ValueError: it is none. The message is the second half of a line.
    """
    stripped = text.strip()
    found = _SPELLED.fullmatch(stripped) if stripped else None
    try:
        value = (
            sum(float(count or 0) * unit for count, unit in zip(found.groups(), _UNITS.values(), strict=True))
            if found
            else float(stripped if stripped.isascii() and "_" not in stripped else "")
        )
    except ValueError:
        raise ValueError(f"no time; expected {_FORMS}") from None
    if not 0 < value <= LONGEST:  # not NaN either
        raise ValueError(f"expected more than 0 s and at most {LONGEST / 86400:.0f} days")
    return value


def given(asked: str, between: str | None) -> Intervals:
    """Return what `--intervals` and `--busy` ask for.

    Args:
        asked: a distribution, or the name of a file.
        between: how long a busy period is; None: what the file says.

    Raises:
        UsageError: one of them is not of a form that is read.
    """
    busy = None if between is None else _busy(between)
    kind, colon, rest = asked.partition(":")
    if colon and (make := _DISTRIBUTIONS.get(kind)):
        return make(asked, rest, busy or 0.0)
    if asked == STANDARD and sys.stdin is None:
        raise UsageError("--intervals -: standard input is closed")
    try:
        with nullcontext(sys.stdin) if asked == STANDARD else Path(asked).open(encoding="utf-8-sig") as file:
            return of_lines(asked, file, busy)
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or "not text"
        forms = ' or "lognormal:median=20m,p90=3h", "exponential:mean=30m"'
        raise UsageError(f"--intervals {echo(asked)}: {why}; expected a file{forms}") from None


def _busy(text: str) -> float:
    try:
        return duration(text)
    except ValueError as wrong:
        raise UsageError(f"--busy {echo(text)}: {wrong}") from None


def of_lines(title: str, lines: Iterable[str], busy: float | None) -> Intervals:
    """Return the intervals of a file: one a line, or, as CSV, the times of requests.

    Args:
        title: of the file, for messages.
        lines: its lines. Empty ones and those that begin with # are passed over.
        busy: seconds of a busy period; None: what the times of requests say, else nothing.

    Raises:
        UsageError: there is none, or a line is no interval.
    """
    rows = ((number, line) for number, line in enumerate(lines, 1) if line.strip() and not line.startswith("#"))
    first = next(rows, None)
    if first is None:
        raise UsageError(f"--intervals {echo(title)}: empty; expected one interval a line: {_FORMS}")
    cells = [cell.lower() for cell in _cells(first[1])]
    column = next((place for place, cell in enumerate(cells) if cell in _TIMES), None)
    if column is not None:
        return _of_requests(title, rows, column, busy)
    if _is_moment(cells[0]):
        return _of_requests(title, _again(first, rows), 0, busy)
    seconds = sorted(_interval(title, number, line) for number, line in _again(first, rows))
    unit = "interval" if len(seconds) == 1 else "intervals"
    return Intervals(seconds=seconds, busy=busy or 0.0, source=f"{len(seconds)} {unit} of {echo(title)}")


def _again(first: tuple[int, str], rows: Iterable[tuple[int, str]]) -> Iterable[tuple[int, str]]:
    yield first
    yield from rows


def _interval(title: str, number: int, line: str) -> float:
    try:
        return duration(line)
    except ValueError as wrong:
        raise UsageError(f"--intervals {echo(title)}:{number}: {echo(line.strip())}: {wrong}") from None


def _of_requests(title: str, rows: Iterable[tuple[int, str]], column: int, busy: float | None) -> Intervals:
    moments = sorted(_moment(title, number, line, column) for number, line in rows)
    gaps = [later - earlier for earlier, later in pairwise(moments)]
    idle = sorted(gap for gap in gaps if gap >= BUSY_GAP)
    said = f"{len(moments)} requests of {echo(title)}"
    if not idle:
        raise UsageError(
            f"--intervals {echo(title)}: {len(moments)} requests, and no {BUSY_GAP:.0f} s between two of them: never"
            " idle"
        )
    if idle[-1] > LONGEST:
        raise UsageError(f"--intervals {echo(title)}: {idle[-1] / 86400:.0f} days between two requests; expected fewer")
    measured = (moments[-1] - moments[0] - math.fsum(idle)) / len(idle)
    return Intervals(
        seconds=idle,
        busy=measured if busy is None else busy,
        source=f"{len(idle)} intervals of {BUSY_GAP:.0f} s and more between {said}",
    )


def _moment(title: str, number: int, line: str, column: int) -> float:
    cells = _cells(line)
    cell = cells[column] if column < len(cells) else ""
    try:
        return _seconds_of(cell)
    except ValueError:
        raise UsageError(
            f"--intervals {echo(title)}:{number}: {echo(cell)}: no time of a request; expected 2026-11-30T10:00:00Z or"
            " seconds since 1970"
        ) from None


def _cells(line: str) -> list[str]:
    try:
        return [cell.strip() for cell in next(csv.reader([line], skipinitialspace=True))]
    except csv.Error:  # longer than any cell
        return [line]


def _seconds_of(cell: str) -> float:
    """Return a moment as seconds since 1970; without a zone it is UTC."""
    try:
        value = float(cell)
    except ValueError:
        moment = datetime.fromisoformat(cell)
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
    if not abs(value) <= _LATEST:  # not NaN either
        raise ValueError(cell)
    return value


def _is_moment(cell: str) -> bool:
    """Whether it is a time of the calendar: a plain number is an interval."""
    try:
        datetime.fromisoformat(cell.upper())
    except ValueError:
        return False
    return "-" in cell


def _named(asked: str, rest: str, *names: str) -> list[float]:
    pairs = dict(part.partition("=")[::2] for part in rest.split(","))
    form = f"{asked.partition(':')[0]}:{','.join(f'{name}=<time>' for name in names)}"
    if list(pairs) != list(names):
        raise UsageError(f"--intervals {echo(asked)}: expected {form}")
    try:
        return [duration(pairs[name]) for name in names]
    except ValueError as wrong:
        raise UsageError(f"--intervals {echo(asked)}: {wrong}") from None


def _exponential(asked: str, rest: str, busy: float) -> Intervals:
    (mean,) = _named(asked, rest, "mean")

    def below(edge: float) -> float:
        """The part of the mean that shorter intervals have."""
        return mean if math.isinf(edge) else mean - (edge + mean) * math.exp(-edge / mean)

    return _cut(asked, lambda share: -mean * math.log1p(-share), below, busy)


def _lognormal(asked: str, rest: str, busy: float) -> Intervals:
    median, p90 = _named(asked, rest, "median", "p90")
    if p90 <= median:
        raise UsageError(f"--intervals {echo(asked)}: p90 {p90:g} s is no longer than the median {median:g} s")
    spread, normal = math.log(p90 / median) / _P90, NormalDist()
    mean = median * math.exp(spread**2 / 2)
    if mean > LONGEST:
        raise UsageError(f"--intervals {echo(asked)}: its mean is {mean / 86400:.3g} days; expected a smaller p90")

    def below(edge: float) -> float:
        if edge <= 0 or math.isinf(edge):
            return 0.0 if edge <= 0 else mean
        return mean * normal.cdf(math.log(edge / median) / spread - spread)

    return _cut(asked, lambda share: median * math.exp(spread * normal.inv_cdf(share)), below, busy)


def _cut(asked: str, quantile: Callable[[float], float], below: Callable[[float], float], busy: float) -> Intervals:
    """Return the means of PARTS parts of a distribution, by its quantiles and its partial means."""
    edges = [0.0, *(quantile(place / PARTS) for place in range(1, PARTS)), math.inf]
    sums = [below(edge) for edge in edges]
    means = [(after - before) * PARTS for before, after in pairwise(sums)]
    # at the short end the difference of two sums may be nothing but rounding
    seconds = [min(max(mean, low, 1e-9), high) for mean, low, high in zip(means, edges[:-1], edges[1:], strict=True)]
    return Intervals(seconds=seconds, busy=busy, source=f"{asked} (mean {math.fsum(seconds) / PARTS / 60:.1f} min)")


_DISTRIBUTIONS: dict[str, Callable[[str, str, float], Intervals]] = {
    "exponential": _exponential,
    "lognormal": _lognormal,
}
