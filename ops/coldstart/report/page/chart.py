"""The pictures of a report: waterfalls, and the ladder of configurations.

Widths are shares of the picture's, heights are pixels: text keeps its size on a narrow screen, and bars shrink.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ops.coldstart.report.starts.bars import FAMILIES, TOTAL, Bar, Family, ticks
from ops.coldstart.report.starts.figures import Spread, text
from ops.markup.element import Element, element, number

ROW, THICK, AXIS = 23, 15, 34
"""Pixels: of a waterfall's row, of a bar, and of the axis below all rows."""

STEP = 40
"""Pixels of a row of the ladder: a name, and below it a bar."""

HAIR = 0.35
"""Percent: a bar that would be thinner is so wide. Its label tells how long it is."""

NONE_COUNTS = "load runs alone: no figure"

LONGEST = 44
"""Characters of a name that a picture shows: the table below it has the whole."""


@dataclass(frozen=True)
class Scale:
    """An axis of seconds."""

    longest: float

    @property
    def marks(self) -> tuple[float, ...]:
        """The seconds that it names."""
        return ticks(self.longest)

    def at(self, seconds: float) -> str:
        """Return the place of so many seconds, in percent."""
        return f"{number(100 * seconds / self.marks[-1])}%"

    def wide(self, seconds: float) -> str:
        """Return the width of a bar of so many seconds, in percent: never none."""
        return f"{number(max(HAIR, 100 * seconds / self.marks[-1]))}%"


@dataclass(frozen=True)
class Words:
    """What a picture says to those who do not see it."""

    key: str
    """Unlike any other of the page."""
    title: str
    description: str


def _framed(words: Words, height: int, kind: str, *content: Element) -> Element:
    return element(
        "svg",
        {"class": f"chart {kind}", "role": "img", "aria-labelledby": f"{words.key}-t {words.key}-d", "height": height},
        element("title", {"id": f"{words.key}-t"}, words.title),
        element("desc", {"id": f"{words.key}-d"}, words.description),
        *content,
        element("text", {"class": "value tick", "x": "100%", "y": height - AXIS + 19}, "s"),
    )


def waterfall(laid: Sequence[Bar], scale: Scale, words: Words) -> Element:
    """Return a picture of bars, each in a row of its own, on an axis of seconds."""
    bottom = ROW * len(laid)
    labels = [element("text", {"class": "label", "x": 0, "y": _line(row)}, bar.label) for row, bar in enumerate(laid)]
    values = [
        element("text", {"class": "value", "x": "100%", "y": _line(row)}, text(bar.of.median))
        for row, bar in enumerate(laid)
    ]
    parts = (part for row, bar in enumerate(laid) for part in _bar(row, bar, scale))
    plot = _plot(scale, bottom, ("27%", "61%"), *parts)
    return _framed(words, bottom + AXIS, "waterfall", *labels, plot, *values)


def _line(row: int) -> int:
    """The base line of a row's text."""
    return ROW * row + 15


def _plot(scale: Scale, bottom: int, place: tuple[str, str], *content: Element) -> Element:
    """The part of a picture that has an axis: what is left and right of it are labels and values."""
    left, width = place
    return element(
        "svg",
        {"class": "plot", "x": left, "width": width, "height": bottom + AXIS},
        *_axis(scale, bottom),
        *content,
    )


def _axis(scale: Scale, bottom: int) -> Iterator[Element]:
    for mark in scale.marks:
        side = {"text-anchor": "middle" if mark else "start"}
        yield element("line", {"class": "grid", "x1": scale.at(mark), "x2": scale.at(mark), "y1": 0, "y2": bottom + 4})
        yield element("text", {"class": "tick", "x": scale.at(mark), "y": bottom + 19, **side}, number(mark))


def _bar(row: int, bar: Bar, scale: Scale) -> Iterator[Element]:
    yield _rect(bar.family, bar.begin, bar.of.median, ROW * row + 4, scale, f"{bar.label}: {_told(bar.of)}")
    if text(bar.of.least) != text(bar.of.most):
        middle = ROW * row + 4 + THICK / 2
        low, high = scale.at(bar.begin + bar.of.least), scale.at(bar.begin + bar.of.most)
        strokes = [(low, high, middle, middle), *((x, x, middle - 4, middle + 4) for x in (low, high))]
        # twice: a light line below the dark one is seen on every bar
        for kind in ("halo", "whisker"):
            for x1, x2, y1, y2 in strokes:
                yield element("line", {"class": kind, "x1": x1, "x2": x2, "y1": y1, "y2": y2})


def _rect(family: Family | None, begin: float, seconds: float, top: float, scale: Scale, told: str) -> Element:
    return element(
        "rect",
        {
            "class": f"bar {family or TOTAL}",
            "x": scale.at(begin),
            "width": scale.wide(seconds),
            "y": top,
            "height": THICK,
        },
        element("title", None, told),
    )


def _told(of: Spread) -> str:
    return f"{text(of.median)} s, {text(of.least)} to {text(of.most)} s, n {of.n}"


def ladder(rows: Sequence[tuple[str, Sequence[Bar]]], scale: Scale, words: Words) -> Element:
    """Return a picture of configurations: one bar each, of its phases behind one another.

    Args:
        rows: a name, and the bars of its waterfall; none: nothing was measured that counts.
        scale: of all of them.
        words: for those who do not see it.
    """
    bottom = STEP * len(rows)
    named = [
        element("text", {"class": "name", "x": 0, "y": STEP * row + 15}, _cut(name))
        for row, (name, _) in enumerate(rows)
    ]
    values = [
        element(
            "text", {"class": "value", "x": "100%", "y": STEP * row + 32}, text(laid[-1].of.median) if laid else "-"
        )
        for row, (_, laid) in enumerate(rows)
    ]
    unknown = [
        element("text", {"class": "tick", "x": 4, "y": STEP * row + 32}, NONE_COUNTS)
        for row, (_, laid) in enumerate(rows)
        if not laid
    ]
    bars = [
        _rect(bar.family, bar.begin, bar.of.median, STEP * row + 21, scale, f"{bar.label}: {_told(bar.of)}")
        for row, (_, laid) in enumerate(rows)
        for bar in laid[:-1]
        if bar.of.median > 0
    ]
    return _framed(words, bottom + AXIS, "ladder", _plot(scale, bottom, ("0", "88%"), *bars, *unknown), *named, *values)


def _cut(name: str) -> str:
    return name if len(name) <= LONGEST else f"{name[:LONGEST]}\u2026"


_STROKES: dict[Family, tuple[str, ...]] = {
    "machine": (),
    "image": ("M-1 1L1 -1M0 8L8 0M7 9L9 7",),
    "cache": ("M2 2h2v2h-2zM6 6h2v2h-2z",),
    "imports": ("M2 0V8M6 0V8",),
    "weights": ("M-1 7L1 9M0 0L8 8M7 -1L9 1",),
    "engine": ("M0 0L8 8M8 0L0 8",),
    "serving": ("M0 2H8M0 6H8",),
    "unattributed": ("M-1 1L1 -1M0 8L8 0M7 9L9 7",),
}
"""What is drawn over a family's colour, in 8 x 8 pixels: who sees or prints no colours tells them apart."""


def patterns() -> Element:
    """Return what fills the bars of all pictures of a page: once, and without a place on it."""
    defined = [
        element(
            "pattern",
            {"id": f"p-{family}", "width": 8, "height": 8, "patternUnits": "userSpaceOnUse"},
            element("rect", {"class": f"ground {family}", "width": 8, "height": 8}),
            *(element("path", {"class": f"stroke {family}", "d": path}) for path in _STROKES[family]),
        )
        for family in FAMILIES
    ]
    return element(
        "svg", {"class": "patterns", "width": 0, "height": 0, "aria-hidden": "true"}, element("defs", None, *defined)
    )


def key() -> Element:
    """Return what the fillings stand for."""
    entries = [
        element(
            "li",
            None,
            element(
                "svg",
                {"class": "swatch", "width": 22, "height": 12, "aria-hidden": "true"},
                element("rect", {"class": f"bar {family}", "width": 22, "height": 12}),
            ),
            f" {', '.join(phases) or 'unattributed: in no phase'}",
        )
        for family, phases in FAMILIES.items()
    ]
    return element("ul", {"class": "key"}, *entries)
