"""The report as one HTML page: nothing is loaded, nothing is run, and it prints.

Its parts are below `sections`; what they say is in `wording`, and what they draw in `chart`.
"""

from collections.abc import Sequence
from pathlib import Path

from ops.coldstart.record import Record
from ops.coldstart.report import wording
from ops.coldstart.report.page.chart import patterns
from ops.coldstart.report.page.sections import setting_section
from ops.coldstart.report.starts.configuration import SETTING, Setting, differing, settings
from ops.markup.element import Content, Element, element, page

STYLE = Path(__file__).with_name("page.css")

POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'"
"""A browser loads and runs nothing for this page, whatever a file of records holds."""

TITLE = "Cold start report"


def html(records: Sequence[Record], title: str) -> str:
    """Return the page.

    Args:
        records: what was measured, in any order.
        title: of the page.
    """
    found = settings(records)
    different = differing([it.subject for it in found], SETTING)
    return page(
        element(
            "html",
            {"lang": "en"},
            _head(title),
            element(
                "body",
                None,
                patterns(),
                element("h1", None, title),
                *_opening(records, found),
                *(setting_section(it, f"s{place}", different) for place, it in enumerate(found)),
                *_closing(found),
            ),
        )
    )


def _head(title: str) -> Element:
    return element(
        "head",
        None,
        element("meta", {"charset": "utf-8"}),
        element("meta", {"http-equiv": "Content-Security-Policy", "content": POLICY}),
        element("meta", {"name": "viewport", "content": "width=device-width, initial-scale=1"}),
        element("meta", {"name": "color-scheme", "content": "light dark"}),
        # else a browser asks the server for one
        element("link", {"rel": "icon", "href": "data:,"}),
        element("title", None, title),
        element("style", None, STYLE.read_text(encoding="utf-8")),
    )


def _opening(records: Sequence[Record], found: Sequence[Setting]) -> list[Content]:
    if not records:
        return [element("p", None, f"{wording.NOTHING} The files hold no line.")]
    counted: list[Content] = [element("p", {"class": "soft"}, f"{wording.measured(records)}.")]
    if len(found) > 1:
        apart = (
            f"They are of {len(found)} settings, each with a part of its own: seconds are not compared between them."
            " What sets them apart is underlined."
        )
        counted.append(element("p", None, apart))
    return counted


def _closing(found: Sequence[Setting]) -> list[Element]:
    if not found:
        return []
    told = [element("li", None, sentence) for sentence in wording.HOW]
    return [element("h2", None, "How to read it"), element("ul", {"class": "note"}, *told)]
