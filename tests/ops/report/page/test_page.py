"""The page holds every figure, and nothing of a file becomes anything but text."""

import re
from html.parser import HTMLParser

import pytest

from ops.coldstart.report.markdown import markdown, span
from ops.coldstart.report.page.page import html
from ops.coldstart.report.starts.bars import phases
from tests.ops.report.article import engine, ladder, record, repeated

EVIL = "<script>alert(1)</script>\"'>&amp;<img src=https://example.com/x onerror=alert(1)> | `@user` \u202e\x1b[31m\x00"


def evil():
    subject = {
        **dict.fromkeys(("stack", "region", "server", "model", "image", "instance_type", "zone", "preset"), EVIL),
        "engine_version": EVIL,
        "fingerprint": EVIL,
        "techniques": (EVIL, "b"),
    }
    return [
        record(None, "restart", "hit", {"imports": 3.0}, 4, subject=subject, notes=(EVIL,), restore=EVIL),
        record(None, "restart", "hit", {"imports": 3.0}, 4, subject={**subject, "server": "b"}),
    ]


class Tags(HTMLParser):
    """Names and attributes of a page's elements, and its text."""

    def __init__(self):
        super().__init__()
        self.names, self.attributes, self.said = set(), set(), ""

    def handle_starttag(self, tag, attrs):
        self.names.add(tag)
        self.attributes |= {name for name, _ in attrs}

    def handle_data(self, data):
        self.said += data


def tags(page):
    found = Tags()
    found.feed(page)
    return found


def test_the_same_starts_in_another_order_give_the_same_bytes():
    records = repeated()
    assert html(records, "T") == html(records[::-1], "T")
    assert markdown(records, "T") == markdown(records[::-1], "T")


def test_nothing_of_a_file_becomes_an_element_or_an_attribute():
    plain, wicked = tags(html(repeated(), "T")), tags(html(evil(), EVIL))
    assert wicked.names <= plain.names
    assert wicked.attributes <= plain.attributes
    assert not {"script", "img"} & wicked.names
    assert not {name for name in wicked.attributes if name.startswith("on")}
    assert "<script>alert(1)</script>" in wicked.said


def test_no_sign_that_turns_text_or_moves_a_cursor_is_on_the_page():
    for text in (html(evil(), EVIL), markdown(evil(), EVIL)):
        assert not re.search("[\u202e\x1b\x00]", text)


def test_every_name_of_an_element_is_the_only_one():
    ids = re.findall(r'\sid="([^"]+)"', html(repeated(2) + evil(), "T"))
    assert len(ids) == len(set(ids)) > 50
    page = html(repeated(2), "T")
    assert set(" ".join(re.findall(r'aria-labelledby="([^"]+)"', page)).split()) <= set(
        re.findall(r'\sid="([^"]+)"', page)
    )


def test_a_picture_says_in_words_and_in_a_table_what_it_shows():
    one = [ladder()[0]]
    page = html(one, "T")
    ((described,),) = [re.findall(r'<desc id="s0-0-0-d">(.*?)</desc>', page)]
    for phase, of in phases(one).items():
        shown = f"{of.median:.1f}"
        assert f"{phase} {shown} s" in described
        assert re.search(rf'<th scope="row">{phase}</th><td class="n">{shown}</td><td class="n">{shown}</td>', page)
    assert 'role="img"' in page


def test_a_configuration_of_load_runs_alone_says_so_and_has_no_figure():
    page = html(ladder(), "T")
    assert "load runs alone: no figure" in page
    assert '<th scope="row">step-2</th><td class="n">0 (+1 load)</td><td class="n">-</td>' in page


def test_a_pull_that_kubelet_did_not_make_is_said_to_be_one():
    page = html(ladder(), "T")
    assert page.count('<td class="n">0 (already present)</td>') == 3


def test_predictions_stand_beside_what_counts_and_not_beside_load_runs():
    page = html(ladder(), "T")
    assert (
        '<th scope="row">weights</th><td class="n">127.6</td><td class="n">127.6</td><td class="n">1</td>'
        '<td class="n">127.6 m</td>' in page
    )
    load = next(it for it in re.findall(r'<article class="run .*?</article>', page, re.S) if 'class="run load"' in it)
    assert "predicted" not in load.lower()


def test_what_is_not_predicted_says_why():
    page = html([record("step-1", "restart", "none", {"imports": 3.0}, 4, subject={"model_gib": None})], "T")
    assert "Not predicted: the records do not say modelGib." in page


def test_restarts_and_notes_are_shown():
    records = [
        record("step-1", "restart", "none", {"imports": 3.0}, 4, restarts=2, notes=("slow disk", "slow disk")),
        record("step-1", "restart", "none", {"imports": 3.0}, 5, notes=("slow disk",)),
    ]
    for text in (html(records, "T"), markdown(records, "T")):
        assert "1 start with 2 restarts of the engine before" in text
        assert "all 2 starts: slow disk" in text


def test_settings_apart_say_so_and_mark_in_what():
    other = record("step-1", "restart", "none", {"imports": 3.0}, 4, subject={"engine_version": "0.33.0"})
    page = html([*ladder(), other], "T")
    assert "They are of 2 settings" in page
    assert '<dd class="differs">0.26.0</dd>' in page
    assert '<dd class="differs">0.33.0</dd>' in page
    assert '<dd class="differs">g7e.2xlarge</dd>' not in page


def test_no_start_at_all_says_so():
    assert "No start was measured." in html([], "T")
    assert markdown([], "T") == "## T\n\nNo start was measured.\n"


def test_markdown_has_the_figures_of_the_page():
    text = markdown(ladder(), "T")
    assert (
        "| `step-2` | 1 (+1 load) | 133.0 | 133.3 | 0 (already present) | 19.8 | 29.6 | 6.6"
        " | -71.0 (-34.8 %) | -181.0 (-57.6 %) |" in text
    )
    assert "| phase | `step-0` | `step-4` |" in text
    assert "| weights | 127.6 | 19.8 |" in text
    assert len(text) < 5000


@pytest.mark.parametrize(
    ("words", "shown"),
    [
        ("a", "`a`"),
        ("@team [x](http://y) #1 <b>", "`@team [x](http://y) #1 <b>`"),
        ("a`b``c", "`a'b''c`"),
        ("a|b", "`a\\|b`"),
        ("a\n\n# b", "`a # b`"),
        ("  ", ""),
    ],
)
def test_what_a_file_holds_is_a_code_span_in_markdown(words, shown):
    assert span(words) == shown


def test_a_row_of_markdown_has_its_cells_whatever_a_file_holds():
    """A cell ends at a bar that no backslash is before."""
    rows = [line for line in markdown(evil(), "T").splitlines() if line.startswith("|")]
    counts = {len(re.findall(r"(?<!\\)\|", line)) for line in rows}
    assert counts == {11, 4}


def test_very_long_and_very_short_phases_have_their_figures():
    phases_ = {**engine(1800.0, 0.0, 0.004)}
    page = html([record("step-0", "restart", "none", phases_, 2000)], "T")
    assert "1800.0" in page
    assert '<th scope="row">compile</th><td class="n">0.0</td>' in page
