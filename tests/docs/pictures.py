"""The pictures of the pages, made by the tools: `make pictures`.

`dev.svg` is what `ops diagram --stack dev` draws; `ladder.svg` has the predicted starts of the article's server, drawn
as a report of measured ones is.
"""

from collections.abc import Iterator, Mapping
from itertools import accumulate
from pathlib import Path

from benchmarks.ladder import servers
from ops.coldstart.report.page import chart
from ops.coldstart.report.starts.bars import FAMILIES, FAMILY_OF, Bar
from ops.coldstart.report.starts.figures import Spread
from ops.diagram.picture import svg
from ops.diagram.plan_file import previewed
from ops.markup.element import SVG, Element, element, picture
from serving.budget.predict import predicted
from serving.budget.timeline import Start, total
from serving.ladder import PRESETS
from tests.harness import ROOT

FOLDER = ROOT / "docs" / "pictures"

STEPS: tuple[tuple[str, Start], ...] = (
    *((f"step-{number}", "fresh node") for number in range(5)),
    ("frontier", "fresh node"),
    ("frontier", "restart"),
    ("step-5", "wake"),
)
WIDTH, LEFT, TOP, KEY = 860, 24, 74, 26
"""Pixels: of the picture, of its margin, above the bars, of a row of the key."""

PAGE = Path(chart.__file__).with_name("page.css")
STYLE = """
text { font-family: "Helvetica Neue", Arial, "DejaVu Sans", sans-serif; }
.head { font-size: 18px; font-weight: 700; fill: var(--ink); } .sub { font-size: 12.5px; fill: var(--soft); }
"""


def ladder() -> str:
    """Return the predicted starts of the ladder's steps, phase by phase."""
    articles, _ = servers()
    kind = articles.pool.types[0]
    rows = [(name, start, predicted(articles, PRESETS[name].techniques, start, kind)) for name, start in STEPS]
    laid = [(f"{name}, {start}: {total(timeline):.0f} s", _bars(timeline)) for name, start, timeline in rows]
    longest = max(bars[-1].of.median for _, bars in laid)
    title = f"From no GPU node to ready: Gemma 4 31B on {kind.name}, vLLM {articles.engine.version}"
    words = chart.Words("ladder", title, "; ".join(name for name, _ in laid))
    drawn = chart.ladder(laid, chart.Scale(longest), words)
    for name, value in {"x": str(LEFT), "y": str(TOP), "width": str(WIDTH - 2 * LEFT)}.items():
        drawn.set(name, value)
    bottom = TOP + float(drawn.attrib["height"])
    height = bottom + KEY * 2 + 12
    return picture(
        element(
            "svg",
            {"xmlns": SVG, "viewBox": f"0 0 {WIDTH} {height:.0f}", "width": WIDTH, "height": height, "role": "img"},
            element("style", None, f"{PAGE.read_text(encoding='utf-8')}{STYLE}"),
            element("rect", {"width": "100%", "height": "100%", "style": "fill: var(--paper)"}),
            element("text", {"class": "head", "x": LEFT, "y": 32}, title),
            element(
                "text",
                {"class": "sub", "x": LEFT, "y": 54},
                "predicted seconds by phase; docs/cold-start.md says how each is known",
            ),
            chart.patterns(),
            drawn,
            *_key(bottom),
        )
    )


def _bars(timeline: Mapping) -> list[Bar]:
    seconds = {phase: cell.value for phase, cell in timeline.items()}
    begins = accumulate(seconds.values(), initial=0.0)
    each = [
        Bar(phase, FAMILY_OF[phase], begin, _of(value))
        for (phase, value), begin in zip(seconds.items(), begins, strict=False)
    ]
    return [*each, Bar("total", None, 0.0, _of(sum(seconds.values())))]


def _of(seconds: float) -> Spread:
    return Spread(seconds, seconds, seconds, 1)


def _key(top: float) -> Iterator[Element]:
    names = {family: phases for family, phases in FAMILIES.items() if phases}
    for at, (family, phases) in enumerate(names.items()):
        x, y = LEFT + (at % 4) * (WIDTH - 2 * LEFT) / 4, top + 8 + (at // 4) * KEY
        yield element("rect", {"class": f"bar {family}", "x": x, "y": y, "width": 22, "height": 12})
        yield element(
            "text", {"class": "sub", "x": x + 28, "y": y + 10}, f"{phases[0]}{' ...' if len(phases) > 1 else ''}"
        )


def pictures() -> dict[str, str]:
    """Return the content of each file."""
    return {"dev.svg": svg(previewed("dev", [])), "ladder.svg": ladder()}


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for name, content in pictures().items():
        (FOLDER / name).write_text(content, encoding="utf-8")
