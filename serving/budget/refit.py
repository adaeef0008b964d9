"""What measured starts say of each phase: its seconds without techniques, and what each technique changes.

For each phase of each kind of start, a run's seconds are taken to be a baseline plus one difference per technique.
Runs with the same techniques are first put together as their median, so that one slow start weighs nothing; what
remains is solved by least squares over those medians. Techniques that no pair of configurations tells apart stay
together, and what cannot be told at all is said to be so.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import groupby
from statistics import median

from serving.budget.timeline import PHASES, STARTS, Phase, Start


@dataclass(frozen=True)
class Measured:
    """One start that was measured."""

    start: Start
    techniques: frozenset[str]
    """All that act on it, the pool's too."""
    seconds: Mapping[Phase, float]
    """By phase. One that is not in it was not measured; one that did not happen took 0."""


@dataclass(frozen=True)
class Refit:
    """What runs say of one phase of one kind of start. Seconds."""

    start: Start
    phase: Phase
    baseline: float | None
    """Without the techniques of `effects`; None: the runs do not tell it."""
    including: tuple[str, ...]
    """Techniques of every run: the baseline is one with them, whatever they do."""
    effects: Mapping[tuple[str, ...], float]
    """Difference that a technique makes, below 0 when it saves. Several names: they came only together."""
    untold: tuple[tuple[str, ...], ...]
    """Techniques whose difference cannot be told from that of others."""
    configurations: int
    """How many sets of techniques were measured. With no more of them than figures, nothing checks the figures."""
    runs: int
    spread: float
    """The largest distance of a run from what this says: noise, and techniques whose effects do not add up."""


def refit(measurements: Sequence[Measured]) -> list[Refit]:
    """Return what the runs say, for each start and phase that was measured, in their order."""
    return list(_each(measurements))


def _each(measurements: Sequence[Measured]) -> Iterator[Refit]:
    for start in STARTS:
        of_start = [run for run in measurements if run.start == start]
        for phase in PHASES:
            runs = [(run.techniques, run.seconds[phase]) for run in of_start if phase in run.seconds]
            if runs:
                yield _fitted(start, phase, runs)


def _fitted(start: Start, phase: Phase, runs: Sequence[tuple[frozenset[str], float]]) -> Refit:
    sets = sorted({techniques for techniques, _ in runs}, key=sorted)
    middle = {it: median(seconds for techniques, seconds in runs if techniques == it) for it in sets}
    groups = _together(sets)
    always = next((group for group in groups if all(group[0] in it for it in sets)), ())
    telling = [group for group in groups if group != always]
    rows = [[1, *(int(group[0] in it) for group in telling)] for it in sets]
    some, told = _least_squares(rows, [middle[it] for it in sets])
    says = {it: sum(a * x for a, x in zip(row, some, strict=True)) for it, row in zip(sets, rows, strict=True)}
    return Refit(
        start=start,
        phase=phase,
        baseline=some[0] if told[0] else None,
        including=always,
        effects={group: some[i] for i, group in enumerate(telling, 1) if told[i]},
        untold=tuple(group for i, group in enumerate(telling, 1) if not told[i]),
        configurations=len(sets),
        runs=len(runs),
        spread=max(abs(seconds - says[techniques]) for techniques, seconds in runs),
    )


def _together(sets: Sequence[frozenset[str]]) -> list[tuple[str, ...]]:
    """Return the techniques in groups that every set has whole or not at all."""

    def presence(name: str) -> list[bool]:
        return [name in it for it in sets]

    names = sorted(frozenset().union(*sets), key=lambda name: (presence(name), name))
    return [tuple(group) for _, group in groupby(names, key=presence)]


def _least_squares(rows: Sequence[Sequence[int]], values: Sequence[float]) -> tuple[list[float], list[bool]]:
    """Return a solution of least squares, and which of its figures every other solution has too.

    In fractions: whether figures can be told apart is then no matter of rounding.
    """
    count = len(rows[0])
    whole = [[*map(Fraction, row), Fraction(value)] for row, value in zip(rows, values, strict=True)]
    # the normal equations, the sums with the values in the last column
    matrix = [[sum((row[i] * row[j] for row in whole), Fraction(0)) for j in range(count + 1)] for i in range(count)]
    pivots: dict[int, int] = {}
    for column in range(count):
        top = len(pivots)
        found = next((r for r in range(top, count) if matrix[r][column]), None)
        if found is None:
            continue
        matrix[top], matrix[found] = matrix[found], matrix[top]
        matrix[top] = [value / matrix[top][column] for value in matrix[top]]
        for r in range(count):
            if r != top and (factor := matrix[r][column]):
                matrix[r] = [a - factor * b for a, b in zip(matrix[r], matrix[top], strict=True)]
        pivots[column] = top
    free = [column for column in range(count) if column not in pivots]
    some = [float(matrix[pivots[column]][count]) if column in pivots else 0.0 for column in range(count)]
    told = [column in pivots and not any(matrix[pivots[column]][other] for other in free) for column in range(count)]
    return some, told
