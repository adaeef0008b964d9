"""The report as Markdown, for a pull request: the comparisons, and the medians of each phase.

What a file of records holds stands in code spans, in which no word is a mention, a link or a heading.
"""

from collections.abc import Sequence

from ops.coldstart.record import Record
from ops.coldstart.report import wording
from ops.coldstart.report.starts.bars import TOTAL, UNATTRIBUTED, bars
from ops.coldstart.report.starts.comparison import Comparison, comparisons
from ops.coldstart.report.starts.configuration import Setting, settings
from ops.coldstart.report.starts.figures import text
from ops.markup.element import fit
from serving.budget.timeline import PHASES


def markdown(records: Sequence[Record], title: str) -> str:
    """Return the report.

    Args:
        records: what was measured, in any order.
        title: its heading.
    """
    parts = [f"## {_plain(title)}", f"{wording.measured(records)}." if records else wording.NOTHING]
    for of in settings(records):
        parts.append(f"### {span(wording.heading(of))}")
        parts += [part for compared in comparisons(of) for part in _kind(of, compared)]
    if records:
        parts.append(f"Medians in seconds. {' '.join(wording.HOW[1:3])}")
    return "\n\n".join(parts) + "\n"


def span(words: str) -> str:
    """Return words as a code span that ends where they end, also in a cell of a table."""
    plain = " ".join(fit(words).split())
    # GitHub splits cells before it looks for spans, and takes the backslash away
    return f"`{plain.replace('`', chr(39)).replace('|', chr(92) + '|')}`" if plain else ""


def _plain(words: str) -> str:
    """The title in a line: it is of who asks, not of a file."""
    return " ".join(fit(words).split())


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    marks = ["---", *["---:"] * (len(heads) - 1)]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (heads, marks, *rows))


def _kind(of: Setting, compared: Comparison) -> list[str]:
    said = [wording.cells(compared, row) for row in compared.rows]
    steps = _table(wording.heads(compared), [(span(name), *rest) for name, *rest in said])
    return [
        f"**{wording.kind(compared.start, compared.source)}**",
        steps,
        _phases(of, compared),
        *_remarks(of, compared),
    ]


def _phases(of: Setting, compared: Comparison) -> str:
    """Phases by configuration, of starts that count; those of load runs are on the page."""
    columns = {}
    for it in of.configurations:
        runs = [run for run in it.runs if (run.start, run.source) == (compared.start, compared.source) and run.counted]
        if runs:
            laid = bars([record for run in runs for record in run.records])
            columns[it.name] = {bar.label: text(bar.of.median) for bar in laid}
    if not columns:
        return "Load runs alone: no figure."
    labels = [it for it in (*PHASES, UNATTRIBUTED, TOTAL) if any(it in column for column in columns.values())]
    rows = [(label, *(column.get(label, wording.UNSEEN) for column in columns.values())) for label in labels]
    return _table(("phase", *map(span, columns)), rows)


def _remarks(of: Setting, compared: Comparison) -> list[str]:
    """Each remark once, with whose it is."""
    whose: dict[str, list[str]] = {}
    for it in of.configurations:
        for run in it.runs:
            if (run.start, run.source) == (compared.start, compared.source):
                for remark in wording.remarks(run.records):
                    whose.setdefault(remark, []).append(f"{span(it.name)}{' (load)' * (not run.counted)}")
    return ["\n".join(f"- {', '.join(names)}: {span(remark)}" for remark, names in whose.items())] if whose else []
