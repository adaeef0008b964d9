"""What the page, the Markdown and the terminal say in the same words."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from ops.coldstart.record import Record
from ops.coldstart.report.starts.comparison import BESIDE, Change, Comparison, Figure, Row
from ops.coldstart.report.starts.configuration import Configuration, Runs, Setting, value
from ops.coldstart.report.starts.figures import signed, spread, text

NOTHING = "No start was measured."
UNSEEN = "-"
"""What nobody saw. It is no 0."""

ROLE: Mapping[str, str] = {
    "none": "nothing cached",
    "hit": "hit runs",
    "load": "load runs: fill the cache, never counted as an improvement",
}
SOURCE: Mapping[str, str] = {
    "cluster": "",
    "logs": ", from logs",
    "late logs": ", from logs that begin after the imports",
}

MEASURE: Mapping[str, str] = {"ready": "Ready", "total": "until it served"}

HOW = (
    "Figures are medians in seconds, with least and most beside them. - is what nobody saw: it is no 0.",
    "Ready: from the pod's creation to its first pass of readiness, at most one probe period late. ~: a change smaller"
    " than that, so perhaps none.",
    "Changes are made of hit runs, which took everything from caches, and of starts that cache nothing. Load runs,"
    " which fill a cache, never count.",
    "Weights, engine init and compile are the engine's own figures where its log gives them; else those of the phases,"
    " engine init as the sum of compile, kernels and graphs.",
    "An image pull is 0 only where kubelet said that the image was already present.",
    "In a waterfall each bar begins where the one before ends. Seconds in no phase lie between phases, and are shown at"
    " the end as unattributed. The line over a bar's end goes from the shortest to the longest.",
)


def heads(of: Comparison) -> tuple[str, ...]:
    """Return the heads of a comparison's columns."""
    names = [MEASURE[of.measure], *BESIDE]
    return ("configuration", "n", *names, "against the row before", "against the first row")


def cells(of: Comparison, row: Row) -> tuple[str, ...]:
    """Return a row's cells."""
    n = str(row.n) if not row.left_out else f"{row.n} (+{row.left_out} load)"
    figures = [_cell(row, it) for it in (of.measure, *BESIDE)]
    return (row.name, n, *figures, change(row.to_before), change(row.to_first))


def _cell(row: Row, figure: Figure) -> str:
    if figure == "image pull" and row.present:
        return "0 (already present)"
    return text(row.figures[figure].median) if figure in row.figures else UNSEEN


def change(of: Change | None) -> str:
    """Return a difference: `-110.0 (-35 %)`."""
    if of is None:
        return UNSEEN
    share = "" if of.share is None else f" ({signed(of.share * 100)} %)"
    return f"{'~ ' if of.doubtful else ''}{signed(of.seconds)}{share}"


def kind(start: str, source: str) -> str:
    """Return what was started, as a heading."""
    return f"{start.capitalize()}{SOURCE[source]}"


def summary(of: Comparison) -> str | None:
    """Return the first and the fastest row in a sentence; None: there are no two."""
    known = [row for row in of.rows if of.measure in row.figures]
    if len(known) < 2:
        return None
    first, best = known[0], min(known, key=lambda row: row.figures[of.measure].median)
    if best is first:
        return f"{counted(first)} is the fastest"
    return f"{counted(first)} to {counted(best)}: {change(best.to_first)}"


def counted(row: Row) -> str:
    """Return a row's name with how many starts are behind its figures."""
    return f"{row.name} (n {row.n})"


def seen(records: Sequence[Record]) -> Iterator[str]:
    """Yield what logs and events said of the starts: `compile hit 3`."""
    for what, values in (
        ("pull", [it.pull for it in records if it.pull != "unknown"]),
        ("restore", [it.restore for it in records if it.restore]),
        ("compile", [it.compile for it in records if it.compile != "unknown"]),
    ):
        if counted := Counter(values):
            yield f"{what}: {', '.join(f'{value} {n}' for value, n in sorted(counted.items()))}"


def whole(records: Sequence[Record]) -> Iterator[str]:
    """Yield the figures of whole starts, each with least and most."""
    for label, of in (
        ("Ready", spread(it.ready for it in records)),
        ("first token", spread(it.first_token for it in records)),
        ("total", spread(it.total for it in records)),
    ):
        if of:
            between = f" ({text(of.least)} to {text(of.most)})" if of.n > 1 else ""
            yield f"{label} {text(of.median)} s{between}" + (f", n {of.n}" if of.n != len(records) else "")


def remarks(records: Sequence[Record]) -> Iterator[str]:
    """Yield what a reader must know: restarts, and each note with how many starts have it."""
    if crashed := [it for it in records if it.restarts]:
        restarts = sum(it.restarts for it in crashed)
        yield f"{_starts(len(crashed))} with {restarts} restart{'s' * (restarts > 1)} of the engine before"
    noted = Counter(note for it in records for note in dict.fromkeys(it.notes))
    for note, n in noted.items():
        yield f"{_starts(n)}: {note}" if n < len(records) or n == 1 else f"all {n} starts: {note}"


def _starts(count: int) -> str:
    return f"{count} start{'s' * (count != 1)}"


def measured(records: Sequence[Record]) -> str:
    """Return how much was measured, and when."""
    days = sorted(it.began.date().isoformat() for it in records if it.began)
    when = "" if not days else f", {days[0]}" if days[0] == days[-1] else f", {days[0]} to {days[-1]}"
    return f"{_starts(len(records))}{when}"


def gained(before: Configuration | None, of: Configuration) -> str:
    """Return the techniques of a configuration by what is new and gone since the one before."""
    names = of.subject.techniques
    if before is None:
        return value(of.subject, "techniques")
    old = before.subject.techniques
    moved = [*(f"+ {it}" for it in names if it not in old), *(f"\u2212 {it}" for it in old if it not in names)]
    return ", ".join(moved) or "the same"


def heading(of: Setting) -> str:
    """Return what a setting is called."""
    it = of.subject
    model = it.model.rstrip("/").rsplit("/", 2)[-2:] if it.model else []
    parts = ["/".join(model), f"vLLM {it.engine_version}", it.instance_type, it.capacity, it.region]
    ranks = f"tensor parallel {it.tensor_parallel}" if it.tensor_parallel > 1 else None
    return " \u00b7 ".join(part for part in (*parts, ranks) if part)


def called(of: Configuration, runs: Runs) -> str:
    """Return what starts are called in the title of a picture."""
    return f"{of.name}, {runs.start}{SOURCE[runs.source]}, {ROLE[runs.role]}"
