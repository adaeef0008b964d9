"""The report for a program (`--json`), and for a terminal."""

from collections.abc import Sequence
from typing import Any

from ops.coldstart.record import Record
from ops.coldstart.report import wording
from ops.coldstart.report.starts.bars import TOTAL, UNATTRIBUTED, bars
from ops.coldstart.report.starts.comparison import Comparison, Row, comparisons
from ops.coldstart.report.starts.configuration import OWN, SETTING, Runs, Setting, facts, settings
from ops.coldstart.report.starts.predicted import doubt, timeline
from ops.terminal import columns, plain
from serving.budget.timeline import Timeline, total


def document(records: Sequence[Record]) -> dict[str, Any]:
    """Return what the page shows. All figures are seconds, with milliseconds."""
    return {"starts": len(records), "settings": [_setting(it) for it in settings(records)]}


def _setting(of: Setting) -> dict[str, Any]:
    return {
        "subject": facts(of.subject, SETTING),
        "configurations": [
            {
                "name": it.name,
                "subject": facts(it.subject, OWN),
                "zones": dict(it.zones),
                "runs": [_runs(run) for run in it.runs],
            }
            for it in of.configurations
        ],
        "comparisons": [_comparison(it) for it in comparisons(of)],
    }


def _runs(of: Runs) -> dict[str, Any]:
    laid = {bar.label: bar.of.document() for bar in bars(of.records)}
    subject = of.records[0].subject
    known = of.counted and doubt(subject) is None
    return {
        "start": of.start,
        "role": of.role,
        "source": of.source,
        "n": len(of.records),
        "phases": {label: it for label, it in laid.items() if label not in (UNATTRIBUTED, TOTAL)},
        UNATTRIBUTED: laid[UNATTRIBUTED],
        TOTAL: laid[TOTAL],
        "restarts": sum(it.restarts for it in of.records),
        "remarks": list(wording.remarks(of.records)),
        "predicted": _predicted(timeline(subject, frozenset(subject.techniques), of.start)) if known else None,
    }


def _predicted(of: Timeline) -> dict[str, Any]:
    phases = {phase: {"seconds": round(it.value, 3), "evidence": it.evidence} for phase, it in of.items()}
    return {"seconds": round(total(of), 3), "phases": phases}


def _comparison(of: Comparison) -> dict[str, Any]:
    return {"start": of.start, "source": of.source, "measure": of.measure, "rows": [_row(it) for it in of.rows]}


def _row(of: Row) -> dict[str, Any]:
    return {
        "name": of.name,
        "n": of.n,
        "loadRuns": of.left_out,
        "figures": {figure: it.document() for figure, it in of.figures.items()},
        "imageAlreadyPresent": of.present,
        "againstRowBefore": of.to_before.document() if of.to_before else None,
        "againstFirstRow": of.to_first.document() if of.to_first else None,
    }


def lines(records: Sequence[Record]) -> str:
    """Return the comparisons for a terminal."""
    if not records:
        return wording.NOTHING
    parts = []
    for of in settings(records):
        parts.append(plain(wording.heading(of)))
        for it in comparisons(of):
            rows = [tuple(map(plain, wording.cells(it, row))) for row in it.rows]
            parts.append(f"{wording.kind(it.start, it.source)}\n{columns([wording.heads(it), *rows])}")
    return "\n\n".join(parts)
