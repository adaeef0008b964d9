"""What measured starts say of the budget's figures, beside what the program predicts of the same starts.

Only starts of a cluster count, which took all that is cached from caches, in one go. A load run has the technique and
not yet its effect. A start after a crash finds what the one before it left on the node. A log does not know what kind
of start it was: whoever parsed it said so.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ops.coldstart.record import Record, Subject
from ops.coldstart.report.starts.configuration import COUNTED, SETTING, TITLES, facts, settings, value
from ops.coldstart.report.starts.figures import seconds, signed, text
from ops.coldstart.report.starts.predicted import doubt, timeline
from ops.terminal import columns, plain
from serving.budget.refit import Measured, Refit, refit
from serving.budget.timeline import PHASES, Phase, Start


@dataclass(frozen=True)
class Beside:
    """One phase of one kind of start: what the starts say, and what the predictions of the very same starts say."""

    measured: Refit
    predicted: Refit | None
    """None: the program has no prediction for them. Its `baseline` and `effects` stand for the measured ones."""


@dataclass(frozen=True)
class Refitted:
    """What starts of one setting say."""

    subject: Subject
    phases: tuple[Beside, ...]
    left_out: Mapping[str, int]
    """Starts that do not count, by reason."""
    doubt: str | None
    """Why nothing is predicted."""


LOG_ALONE = "of a log alone"


def left_out(record: Record) -> str | None:
    """Return why a start does not count; None: it does."""
    if record.source != "cluster":
        return LOG_ALONE
    if record.role not in COUNTED:
        return "load runs"
    return "after a restart of the engine" if record.restarts else None


def refitted(records: Sequence[Record]) -> tuple[Refitted, ...]:
    """Return what the starts say, by setting: figures of two are never mixed."""
    return tuple(
        _refitted([record for it in setting.configurations for of in it.runs for record in of.records])
        for setting in settings(records)
    )


def _refitted(records: Sequence[Record]) -> Refitted:
    counted = [record for record in records if left_out(record) is None]
    subject = records[0].subject
    unknown = next((why for record in records if (why := doubt(record.subject))), None)
    measured = [_measured(record, _seen(record.start, counted)) for record in counted]
    foreseen = (
        [] if unknown else [_foreseen(record.subject, run) for record, run in zip(counted, measured, strict=True)]
    )
    predictions = {(it.start, it.phase): it for it in refit(foreseen)}
    reasons = Counter(why for record in records if (why := left_out(record)))
    return Refitted(
        subject,
        tuple(Beside(it, predictions.get((it.start, it.phase))) for it in refit(measured)),
        dict(sorted(reasons.items())),
        unknown,
    )


def _seen(start: Start, records: Sequence[Record]) -> Sequence[Phase]:
    """Phases that any start of this kind has: one that none has is no figure, also where it took 0 s in all."""
    return [phase for phase in PHASES if any(it.start == start and phase in it.phases for it in records)]


def _measured(record: Record, seen: Sequence[Phase]) -> Measured:
    known = {phase: took for phase in seen if (took := seconds(record, phase)) is not None}
    return Measured(record.start, frozenset(record.subject.techniques), known)


def _foreseen(subject: Subject, run: Measured) -> Measured:
    """The same start as predicted, in the same phases: what tells figures apart is then the same."""
    expected = timeline(subject, run.techniques, run.start)
    values = {phase: expected[phase].value if phase in expected else 0.0 for phase in run.seconds}
    return Measured(run.start, run.techniques, values)


_NO_EFFECT = 0.05
"""Seconds that are none in a table of tenths."""

_HEAD = ("start", "phase", "of", "measured", "predicted", "spread", "runs", "configurations")


def table(found: Refitted) -> str:
    """Return a setting's figures as text."""
    said = ", ".join(
        f"{TITLES[it]} {plain(value(found.subject, it))}" for it in SETTING if value(found.subject, it) != "-"
    )
    lines = [said]
    rows = [row for it in found.phases for row in _rows(it)]
    lines.append(columns([_HEAD, *rows]) if rows else "no start that counts")
    lines += [f"left out: {count} {why}" for why, count in found.left_out.items()]
    if LOG_ALONE in found.left_out:
        lines.append("a log counts with dumps of the API beside it: `coldstart parse pod.json node.json ... LOG`")
    if found.doubt:
        lines.append(f"not predicted: {plain(found.doubt)}")
    if any(it.measured.untold for it in found.phases):
        lines.append("not told: no two configurations differ in it alone; measure one that does")
    return "\n".join(lines)


def _rows(it: Beside) -> list[tuple[str, ...]]:
    of, foreseen = it.measured, it.predicted
    place, checks = (of.start, of.phase), (text(of.spread), str(of.runs), str(of.configurations))
    always = f" with {_named(of.including)}" if of.including else ""
    baseline = "not told" if of.baseline is None else text(of.baseline)
    said = text(foreseen.baseline) if foreseen and foreseen.baseline is not None else "-"
    rows: list[tuple[str, ...]] = [(*place, f"baseline{always}", baseline, said, *checks)]
    within: list[str] = []
    for names, effect in of.effects.items():
        expected = foreseen.effects.get(names) if foreseen else None
        if abs(effect) <= max(of.spread, _NO_EFFECT) and abs(expected or 0.0) < _NO_EFFECT:
            within += names
        else:
            shown = "-" if expected is None else signed(expected)
            rows.append((*place, _named(names), signed(effect), shown, *checks))
    rows += [(*place, _named(names), "not told", "-", *checks) for names in of.untold]
    return [*rows, (*place, f"{', '.join(map(plain, within))}: within the spread", "", "", *checks)] if within else rows


def _named(names: Sequence[str]) -> str:
    return " + ".join(map(plain, names))


def document(found: Sequence[Refitted]) -> list[dict[str, Any]]:
    """Return the figures as JSON has them."""
    return [
        {
            "setting": facts(it.subject, SETTING),
            "phases": [_phase(of) for of in it.phases],
            "leftOut": dict(it.left_out),
            "notPredicted": it.doubt,
        }
        for it in found
    ]


def _phase(of: Beside) -> dict[str, Any]:
    it, foreseen = of.measured, of.predicted
    told = it.effects.items()
    return {
        "start": it.start,
        "phase": it.phase,
        "baseline": _figure(it.baseline, foreseen.baseline if foreseen else None),
        "including": list(it.including),
        "effects": [
            {"techniques": list(names), **_figure(effect, foreseen.effects.get(names) if foreseen else None)}
            for names, effect in told
        ],
        "notTold": [list(names) for names in it.untold],
        "spread": round(it.spread, 3),
        "runs": it.runs,
        "configurations": it.configurations,
    }


def _figure(measured: float | None, predicted: float | None) -> dict[str, float | None]:
    """Both in milliseconds."""
    return {
        "measured": None if measured is None else round(measured, 3) + 0,
        "predicted": None if predicted is None else round(predicted, 3) + 0,
    }
