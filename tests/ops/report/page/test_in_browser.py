"""What a browser makes of the page: bars of some width, nothing loaded, nothing beyond the edge, and on paper."""

from pathlib import Path

import pytest

from ops.coldstart.report.page.page import html
from tests.ops.chromium import Browser
from tests.ops.report.article import engine, ladder, record, repeated

LONG = "a-very-long-name-without-any-place-to-break-it" * 8


def extremes():
    """0 s, 1800 s, long names, two settings, a log, a note."""
    long = {"server": LONG, "stack": LONG, "model": f"s3://{LONG}/models/a/b/", "zone": LONG, "image": LONG}
    each = [
        record("step-0", "restart", "none", {**engine(1800.0, 0.0, 0.004)}, 2000, subject=long, notes=(LONG * 3,)),
        record(None, "restart", "hit", {"imports": 0.3}, 1, subject={**long, "techniques": (LONG, LONG + "2")}),
        record("step-1", "restart", "none", {"imports": 12.0}, 13, subject={"engine_version": "0.33.0"}),
        record("step-1", "restart", "none", {"imports": 9.0}, 11, source="logs", ready=None),
        record("step-5", "wake", "hit", {"wake": 0.0}, 0),
    ]
    return [*each, *ladder()]


def many():
    """200 starts, each of a configuration of its own."""
    names = [f"technique-{place}" for place in range(200)]
    return [
        record(None, "restart", "hit", {"imports": 5.0 + place}, 230, subject={"techniques": (names[place],)})
        for place in range(200)
    ]


PAGES = {
    "none": list,
    "one": lambda: ladder()[:1],
    "the ladder": ladder,
    "the ladder five times": repeated,
    "extremes": extremes,
    "200": many,
}


@pytest.fixture(scope="session")
def pages(tmp_path_factory):
    """The pages' files by name."""
    folder = tmp_path_factory.mktemp("pages")
    found = {name: folder / f"{name}.html" for name in PAGES}
    for name, file in found.items():
        file.write_text(html(PAGES[name](), name), encoding="utf-8")
    return found


WIDTHS = "[...document.querySelectorAll('.chart rect.bar')].map(it => it.getBoundingClientRect().width)"
BEYOND = """[...document.querySelectorAll('body *')].filter(it => {
  const box = it.getBoundingClientRect();
  return box.width && box.right > document.documentElement.clientWidth + 0.5 && !it.closest('.scroll');
}).map(it => it.outerHTML.slice(0, 120))"""
OVER = """[...document.querySelectorAll('.chart')].flatMap(chart => {
  const texts = [...chart.querySelectorAll('text')].map(it => [it.textContent, it.getBoundingClientRect()]);
  return texts.flatMap(([one, a], place) => texts.slice(place + 1).filter(([, b]) =>
    a.left < b.right - 0.5 && b.left < a.right - 0.5 && a.top < b.bottom - 3 && b.top < a.bottom - 3)
    .map(([other]) => one + ' over ' + other));
})"""
"""Texts of one picture that lie over each other."""


def opened(chromium: Browser, file: Path, width: int = 1280, **media: str) -> Browser:
    chromium.open(file, width, **media)
    assert chromium.complaints() == []
    assert chromium.asked() == []
    return chromium


def test_zones_are_not_broken_letter_by_letter_on_a_phone(chromium, pages):
    shown = opened(chromium, pages["the ladder five times"], 400)
    widths = shown.value("[...document.querySelectorAll('td.whole')].map(it => it.getBoundingClientRect().width)")
    assert len(widths) == 6
    assert min(widths) >= 11 * 15


@pytest.mark.parametrize("width", [1280, 400])
@pytest.mark.parametrize("name", PAGES)
def test_bars_have_a_width_and_nothing_is_loaded_or_beyond_the_edge(chromium, pages, name, width):
    shown = opened(chromium, pages[name], width)
    widths = shown.value(WIDTHS)
    assert bool(widths) is (name != "none")
    assert all(it > 0.5 for it in widths)
    assert shown.value("document.documentElement.scrollWidth <= window.innerWidth")
    assert shown.value(BEYOND) == []
    assert shown.value(OVER) == []


def test_each_picture_has_a_name_and_a_description_for_who_does_not_see_it(chromium, pages):
    shown = opened(chromium, pages["the ladder five times"])
    tree = shown.call("Accessibility.getFullAXTree")["nodes"]
    pictures = [it for it in tree if it["role"]["value"] in ("image", "img") and not it["ignored"]]
    assert len(pictures) == shown.value("document.querySelectorAll('svg[role=img]').length") > 10
    assert all(it["name"]["value"].startswith(("Waterfall: ", "Fresh node", "Restart", "Wake")) for it in pictures)
    assert any("weights 127.6 s" in it["name"]["value"] for it in pictures)
    assert shown.value(
        "[...document.querySelectorAll('.waterfall')].every(it => it.parentElement.querySelector('table'))"
    )


@pytest.mark.parametrize("width", [794, 400])
def test_paper_keeps_the_bars_and_their_patterns(chromium, pages, width):
    shown = opened(chromium, pages["the ladder five times"], width, media="print")
    assert all(it > 0.5 for it in shown.value(WIDTHS))
    # paper does not scroll
    assert width < 700 or shown.value(BEYOND.replace(" && !it.closest('.scroll')", "")) == []
    fills = shown.value("[...document.querySelectorAll('.waterfall rect.bar')].map(it => getComputedStyle(it).fill)")
    assert {'url("#p-weights")', 'url("#p-engine")', 'url("#p-unattributed")'} <= set(fills)
    assert shown.value("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert shown.value("[...document.querySelectorAll('pattern')].filter(it => it.querySelector('path')).length") == 7


def test_dark_is_dark(chromium, pages):
    shown = opened(chromium, pages["one"], scheme="dark")
    assert shown.value("getComputedStyle(document.body).backgroundColor") == "rgb(21, 24, 28)"
    assert shown.value("getComputedStyle(document.querySelector('.chart .label')).fill") == "rgb(232, 233, 228)"


def test_a_bar_is_as_long_as_its_share_of_the_axis(chromium, pages):
    shown = opened(chromium, pages["one"])
    script = "(of => document.querySelector('.waterfall ' + of).getBoundingClientRect().width)"
    bar, plot = (shown.value(f"{script}('{it}')") for it in ("rect.weights", "svg.plot line.grid:last-of-type"))
    whole = shown.value(f"{script}('rect.total')")
    assert bar / whole == pytest.approx(127.6 / 428, rel=0.01)
    assert plot < bar
