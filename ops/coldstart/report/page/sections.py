"""The parts of the page: a setting, the comparison of its configurations, and a waterfall with its table for each."""

from collections.abc import Iterator, Mapping, Sequence

from ops.coldstart.report import wording
from ops.coldstart.report.page import chart
from ops.coldstart.report.page.chart import Scale, Words
from ops.coldstart.report.starts.bars import TOTAL, UNATTRIBUTED, Bar, bars, reach
from ops.coldstart.report.starts.comparison import Comparison, comparisons
from ops.coldstart.report.starts.configuration import (
    OWN,
    SETTING,
    TITLES,
    Configuration,
    Runs,
    Setting,
    differing,
    value,
)
from ops.coldstart.report.starts.figures import ranged, text
from ops.coldstart.report.starts.predicted import doubt, timeline
from ops.markup.element import Content, Element, element
from serving.budget.timeline import PHASES, Timeline, total


def setting_section(of: Setting, key: str, different: Sequence[str]) -> Element:
    """Return the part of a setting.

    Args:
        of: the setting.
        key: begins the names of its elements.
        different: fields in which it is not as the page's others.
    """
    compared = comparisons(of)
    return element(
        "section",
        {"id": key},
        element("h2", None, wording.heading(of)),
        _facts(of, different),
        _cards(compared),
        _subjects(of),
        *(part for place, it in enumerate(compared) for part in _kind(of, it, f"{key}-{place}")),
    )


def _facts(of: Setting, different: Sequence[str]) -> Element:
    said = [(field, value(of.subject, field)) for field in SETTING]
    entries = [
        element(
            "div",
            None,
            element("dt", None, TITLES[field]),
            element("dd", {"class": "differs"} if field in different else None, shown),
        )
        for field, shown in said
        if shown != wording.UNSEEN
    ]
    return element("dl", None, *entries)


def _cards(compared: Sequence[Comparison]) -> Element | None:
    cards = []
    for it in compared:
        known = [row.figures[it.measure].median for row in it.rows if it.measure in row.figures]
        if known:
            figure = f"{text(known[0])} \u2192 {text(min(known))} s" if min(known) < known[0] else f"{text(known[0])} s"
            below = wording.summary(it) or next(wording.counted(row) for row in it.rows if it.measure in row.figures)
            head = f"{wording.kind(it.start, it.source)}, {wording.MEASURE[it.measure]}"
            cards.append(element("li", None, head, element("strong", None, figure), _soft(_minus(below))))
    return element("ul", {"class": "cards"}, *cards) if cards else None


def _soft(words: str) -> Element:
    return element("span", {"class": "soft"}, words)


def _minus(words: str) -> str:
    """With the sign that is as wide as a plus."""
    return words.replace("(-", "(\u2212").replace(": -", ": \u2212").replace("~ -", "~ \u2212")


_NAMED = ("preset", "techniques")
"""Fields that a configuration's name and the column of its techniques hold."""


def _subjects(of: Setting) -> Element:
    """What was measured: every configuration, and in what it is another than the rest."""
    each = of.configurations
    fields = [field for field in differing([it.subject for it in each], OWN) if field not in _NAMED]
    zones = any(it.zones for it in each)
    heads = ["configuration", "techniques, against the row before", *(TITLES[field] for field in fields)]
    rows = []
    for before, it in zip([None, *each[:-1]], each, strict=True):
        counts = [str(sum(len(run.records) for run in it.runs if run.role == role)) for role in wording.ROLE]
        placed = [f"{zone} \u00d7 {n}" for zone, n in it.zones.items()] or [wording.UNSEEN]
        row: list[Content] = [
            _text(wording.gained(before, it)),
            *(_text(_short(field, value(it.subject, field)), {"class": "text differs"}) for field in fields),
            *([element("td", {"class": "whole"}, *_lines(placed))] if zones else []),
            *(element("td", {"class": "n"}, count) for count in counts),
        ]
        rows.append(element("tr", None, element("th", {"scope": "row"}, it.name), *row))
    ends = [
        *(["starts by zone"] if zones else []),
        *(f"n {role if role != 'none' else 'uncached'}" for role in wording.ROLE),
    ]
    same = [field for field in OWN if field not in (*fields, *_NAMED)]
    alike = "; ".join(f"{TITLES[it]} {shown}" for it in same if (shown := value(each[0].subject, it)) != wording.UNSEEN)
    told = "What was measured" + (f". The same in all: {alike}" if alike else "")
    return _wide(told, [*heads, *ends], rows, numbers=len(wording.ROLE))


def _lines(each: Sequence[str]) -> Iterator[Content]:
    for place, line in enumerate(each):
        if place:
            yield element("br")
        yield line


def _short(field: str, shown: str) -> str:
    return shown[:12] if field == "fingerprint" else shown


def _text(words: str, attributes: Mapping[str, str] | None = None) -> Element:
    return element("td", attributes or {"class": "text"}, words)


def _wide(caption: str, heads: Sequence[str], rows: Sequence[Element], numbers: int) -> Element:
    """A table that may be wider than a screen. The last `numbers` heads are of figures."""
    marks = [
        element("th", {"scope": "col", **({"class": "n"} if place >= len(heads) - numbers else {})}, head)
        for place, head in enumerate(heads)
    ]
    return element(
        "div",
        # who has no mouse scrolls what has the focus
        {"class": "scroll", "role": "region", "tabindex": "0", "aria-label": caption},
        element(
            "table",
            {"class": "wide"},
            element("caption", None, caption),
            element("thead", None, element("tr", None, *marks)),
            element("tbody", None, *rows),
        ),
    )


def _kind(of: Setting, compared: Comparison, key: str) -> Iterator[Element]:
    """Everything about one kind of start: configurations beside each other, then each by itself."""
    each = [
        (it, run)
        for it in of.configurations
        for run in it.runs
        if (run.start, run.source) == (compared.start, compared.source)
    ]
    scale = Scale(max(reach(bars(run.records)) for _, run in each))
    yield element("h3", {"id": key}, wording.kind(compared.start, compared.source))
    yield _steps(each, compared, scale, key)
    yield _comparison(compared)
    for place, (it, run) in enumerate(each):
        yield _run(it, run, scale, f"{key}-{place}")


def _steps(each: Sequence[tuple[Configuration, Runs]], compared: Comparison, scale: Scale, key: str) -> Element:
    rows = [
        (row.name, bars([record for it, run in each if it.name == row.name and run.counted for record in run.records]))
        for row in compared.rows
    ]
    told = [f"{name}: {text(laid[-1].of.median)} s" if laid else f"{name}: load runs alone" for name, laid in rows]
    words = Words(
        f"{key}-ladder",
        f"{wording.kind(compared.start, compared.source)}: configurations beside each other",
        "; ".join(told),
    )
    return element("figure", None, chart.ladder(rows, scale, words), chart.key())


def _comparison(compared: Comparison) -> Element:
    heads = wording.heads(compared)
    rows = []
    for row in compared.rows:
        name, *rest = wording.cells(compared, row)
        colours = [
            "",
            *[""] * len(rest[1:-2]),
            *(_colour(it.seconds if it else 0.0) for it in (row.to_before, row.to_first)),
        ]
        cells = [
            element("td", {"class": f"n {kind}".strip()}, _signed(it)) for it, kind in zip(rest, colours, strict=True)
        ]
        rows.append(element("tr", None, element("th", {"scope": "row"}, name), *cells))
    return _wide("Step by step: medians in seconds", heads, rows, numbers=len(heads) - 1)


def _colour(difference: float) -> str:
    return "" if not difference else "better" if difference < 0 else "worse"


def _signed(cell: str) -> str:
    return _minus(f"\u2212{cell[1:]}" if cell.startswith("-") and len(cell) > 1 else cell)


def _run(of: Configuration, run: Runs, scale: Scale, key: str) -> Element:
    laid = bars(run.records)
    told = "; ".join(f"{bar.label} {text(bar.of.median)} s" for bar in laid)
    words = Words(
        key,
        f"Waterfall: {wording.called(of, run)}, n {len(run.records)}",
        f"{told}. The table beside it has the same figures.",
    )
    said = " \u00b7 ".join([*wording.whole(run.records), *wording.seen(run.records)])
    remarks = [element("li", None, it) for it in wording.remarks(run.records)]
    return element(
        "article",
        {"class": f"run {run.role}", "aria-labelledby": f"{key}-h"},
        element(
            "h4",
            {"id": f"{key}-h"},
            of.name,
            element("span", {"class": f"tag {run.role}"}, f"{wording.ROLE[run.role]}, n {len(run.records)}"),
        ),
        element("p", {"class": "soft all"}, said),
        element("div", {"class": "sides"}, chart.waterfall(laid, scale, words), _figures(of, run, laid)),
        element("ul", {"class": "note"}, *remarks) if remarks else None,
    )


def _figures(of: Configuration, run: Runs, laid: Sequence[Bar]) -> Element:
    """The figures of a waterfall, and what the program predicts of such a start."""
    why = doubt(of.subject)
    expected: Timeline | None = None
    if run.counted and why is None:
        expected = timeline(of.subject, frozenset(of.subject.techniques), run.start)
    known = {bar.label: bar for bar in laid}
    foreseen = {str(it) for it in expected or {}}
    labels = [str(it) for it in PHASES if it in known or it in foreseen] + [UNATTRIBUTED, TOTAL]
    rows = [_figure(label, known.get(label), expected, len(run.records)) for label in labels]
    heads = ["phase", "median", "min\u2013max", "n", *(["predicted"] if expected is not None else [])]
    marks = [element("th", {"scope": "col", **({"class": "n"} if place else {})}, it) for place, it in enumerate(heads)]
    note = (
        "Seconds. Predicted, by this program: m measured, p published, e estimated."
        if expected is not None
        else "Seconds."
    )
    if run.counted and why:
        note = f"Seconds. Not predicted: {why}."
    return element(
        "table",
        None,
        element("caption", None, note),
        element("thead", None, element("tr", None, *marks)),
        element("tbody", None, *rows),
    )


def _figure(label: str, bar: Bar | None, expected: Timeline | None, n: int) -> Element:
    said = (
        [text(bar.of.median), ranged(bar.of), str(bar.of.n) if bar.of.n == n else f"{bar.of.n} of {n}"]
        if bar
        else ["-"] * 3
    )
    if expected is not None:
        found = {str(phase): it for phase, it in expected.items()}
        it = found.get(label)
        one = f"{text(it.value)} {it.evidence[0]}" if it else "-"
        said.append(text(total(expected)) if label == TOTAL else one)
    cells = [element("td", {"class": "n"}, it) for it in said]
    return element("tr", {"class": "sum"} if label == TOTAL else None, element("th", {"scope": "row"}, label), *cells)
