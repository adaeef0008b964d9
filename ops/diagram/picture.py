"""The picture as an SVG document: it loads nothing, and says in words what it shows."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from ops.diagram.drawing import Drawing, drawing
from ops.diagram.layout import RADIUS, WIDTH, Arrow, Badge, Laid, Placed, laid
from ops.diagram.stack import servers
from ops.markup.element import SVG, Element, element, number, picture
from ops.markup.measure import cut, wrapped
from rehearsal.plan.plan import Plan

STYLE = Path(__file__).with_name("picture.css")

MARGIN, LEGEND, STEP = 28, 12.5, 19
"""Pixels: left of headings; of a legend's text, and from line to line of it."""

NO_SERVER = "The plan has no server, so it has no cold start."


def drawings(plan: Plan) -> tuple[Drawing, ...]:
    """Return the pictures of a plan, one for each server."""
    return tuple(drawing(plan, server) for server in servers(plan))


def svg(plan: Plan) -> str:
    """Return the picture of a plan: a part below the other for each server."""
    each = drawings(plan)
    title = f"{plan.project}, stack {plan.stack}: the paths of a cold start"
    parts, y = (
        [element("text", {"class": "head", "x": MARGIN, "y": 38}, cut(title, WIDTH - 2 * MARGIN, 20, bold=True))],
        58.0,
    )
    if not each:
        parts.append(element("text", {"class": "sub", "x": MARGIN, "y": y}, NO_SERVER))
        y += STEP
    for it in each:
        drawn, y = _part(it, y)
        parts.append(drawn)
    return picture(
        element(
            "svg",
            {
                "xmlns": SVG,
                "viewBox": f"0 0 {WIDTH} {number(y + 20)}",
                "width": WIDTH,
                "height": y + 20,
                "role": "img",
                "aria-labelledby": "title description",
            },
            element("title", {"id": "title"}, title),
            element("desc", {"id": "description"}, " ".join(map(told, each)) or NO_SERVER),
            element("style", None, STYLE.read_text(encoding="utf-8")),
            element("rect", {"class": "paper", "width": "100%", "height": "100%"}),
            *parts,
        )
    )


def told(it: Drawing) -> str:
    """Return what a picture shows, in words."""
    ways = [
        f"{path.number}. {path.title}: {' to '.join(it.boxes[key].title for key in path.boxes)}; {path.says}."
        for path in it.paths
    ]
    return " ".join([f"Server {it.server}.", *ways, *(f"{sentence}." for sentence in it.missing)])


def _part(of: Drawing, top: float) -> tuple[Element, float]:
    """The picture of one server, and where it ends."""
    heading = element(
        "text",
        {"class": "title", "x": MARGIN, "y": top + 8},
        cut(f"Server {of.server}", WIDTH - 2 * MARGIN, 13, bold=True),
    )
    found = laid(of, top + 24)
    legend, end = _legend(of, found.bottom + 30)
    return element("g", {"class": "server"}, heading, *_drawn(of, found), *legend), end + 18


def _drawn(of: Drawing, found: Laid) -> Iterator[Element]:
    for frame in found.frames:
        yield _shape(frame, f"frame {frame.key}", 6)
    for arrow in found.arrows:
        yield from _arrow(arrow)
    for box in found.boxes:
        urns = of.boxes[box.key].urns
        whole = "; ".join([of.boxes[box.key].title, *of.boxes[box.key].lines, *urns])
        yield element(
            "g",
            {"class": "thing", "data-key": box.key},
            element("title", None, whole),
            _shape(box, f"box {box.key}", 4),
            *_words(box),
        )
    for frame in found.frames:
        yield from _words(frame)
    for badge in found.badges:
        yield from _badge(badge)


def _shape(of: Placed, kind: str, round_: int) -> Element:
    return element("rect", {"class": kind, "x": of.x, "y": of.y, "width": of.width, "height": of.height, "rx": round_})


def _words(of: Placed) -> Iterator[Element]:
    for line in of.words:
        yield element("text", {"class": line.kind, "x": line.x, "y": line.y}, line.text)


TIP = 8
"""Pixels of an arrow's head."""


def _arrow(of: Arrow) -> Iterator[Element]:
    *_, (x0, y0), (x, y) = of.points
    dx, dy = (x > x0) - (x < x0), (y > y0) - (y < y0)
    # the line ends inside the head: its dashes are not seen beyond it
    stem = [*of.points[:-1], (x - dx * TIP, y - dy * TIP)]
    yield element("polyline", {"class": f"arrow p{of.number}", "points": _points(stem)})
    side = TIP * 0.62
    head = [
        (x, y),
        (x - dx * TIP - dy * side, y - dy * TIP - dx * side),
        (x - dx * TIP + dy * side, y - dy * TIP + dx * side),
    ]
    yield element("polygon", {"class": f"tip p{of.number}", "points": _points(head)})


def _points(each: Sequence[tuple[float, float]]) -> str:
    return " ".join(f"{number(x)},{number(y)}" for x, y in each)


def _badge(of: Badge) -> Iterator[Element]:
    yield element("circle", {"class": f"badge p{of.number}", "cx": of.x, "cy": of.y, "r": RADIUS})
    yield element("text", {"class": "number", "x": of.x, "y": of.y + 4}, str(of.number))


def _legend(of: Drawing, top: float) -> tuple[list[Element], float]:
    """What the numbers stand for, below the picture."""
    drawn, y = [], top
    left = MARGIN + 92
    for path in of.paths:
        drawn += [
            *_badge(Badge(path.number, MARGIN + RADIUS, y - 4)),
            element(
                "line",
                {"class": f"arrow p{path.number}", "x1": MARGIN + 30, "x2": MARGIN + 78, "y1": y - 4, "y2": y - 4},
            ),
        ]
        for line in wrapped(f"{path.title}: {path.says}", WIDTH - left - MARGIN, LEGEND, 3):
            drawn.append(element("text", {"class": "legend", "x": left, "y": y}, line))
            y += STEP
        y += 5
    for sentence in of.missing:
        for line in wrapped(sentence, WIDTH - left - MARGIN, LEGEND, 3):
            drawn.append(element("text", {"class": "legend sub", "x": left, "y": y}, line))
            y += STEP
    return drawn, y


def document(plan: Plan) -> dict[str, Any]:
    """Return what the picture shows, for a program."""
    return {
        "project": plan.project,
        "stack": plan.stack,
        "servers": [
            {
                "name": it.server,
                "boxes": {
                    key: {"title": box.title, "lines": list(box.lines), "resources": list(box.urns)}
                    for key, box in it.boxes.items()
                },
                "paths": [
                    {"number": path.number, "title": path.title, "boxes": list(path.boxes), "says": path.says}
                    for path in it.paths
                ],
                "missing": list(it.missing),
            }
            for it in drawings(plan)
        ],
    }
