"""What the docs quote of our own programs is what these print."""

import re
from typing import get_args

import pytest

from ops.programs import RESTORE_LINE
from tests.docs import quotes
from tests.docs.tables.part import PAGES
from tests.harness import ROOT

QUOTES = list(quotes.pages())


def test_the_runbook_quotes_messages() -> None:
    assert len([page for page, _ in QUOTES if page == "docs/runbook.md"]) >= 30


@pytest.mark.parametrize(("page", "quote"), QUOTES, ids=lambda value: str(value)[:60])
def test_a_quoted_message_is_one_of_the_source(page: str, quote: str) -> None:
    assert quotes.said(quote), f"{page}: nothing in {', '.join(quotes.SAYING)} says {quote!r}"


@pytest.mark.parametrize(
    ("quote", "true"),
    [
        ("cache dropped: ...; aside: ...", True),
        ("cache dropped: disk full; aside: ...", False),  # a value where the source has none
        ("cache ignored: no mark can be written: ...", True),
        ("cache ignored: no mark could be written: ...", False),
        ("aside: ...; cache dropped: ...", False),  # the other way round
        (" ... ", False),  # anything has that
    ],
)
def test_only_a_text_of_the_source_passes(quote: str, true: bool) -> None:
    assert quotes.said(quote) is true


def test_what_a_docstring_says_is_no_message() -> None:
    """The wrapper's own shows the line with <reason>."""
    assert not quotes.said("cache dropped: <reason>; aside: <names>")
    assert "cache dropped: <reason>; aside: <names>" in (ROOT / "serving/scripts/pod/wrapper.py").read_text()


RUNBOOK = (PAGES / "runbook.md").read_text(encoding="utf-8")


def test_the_runbook_knows_every_end_of_a_restore() -> None:
    import outcome

    assert set(re.findall(r"^\| `([a-z-]+)` \|", RUNBOOK, re.MULTILINE)) >= set(get_args(outcome.Outcome))
    assert RESTORE_LINE.search('cache-restore: outcome=hit restored=base bytes=1 files=1 seconds=0.001 reason=""')


def test_the_runbook_knows_every_reason_for_which_a_cache_is_dropped() -> None:
    """They are what `unfit` and `prepared` of the wrapper can return."""
    source = (ROOT / "serving/scripts/pod/wrapper.py").read_text()
    reasons = [*re.findall(r'return f"([a-z ]+): \{path\}"', source), *re.findall(r'^DIED = "(.+)"', source, re.M)]
    assert len(reasons) == 3
    assert [it for it in reasons if it not in RUNBOOK] == []


def test_the_runbook_knows_every_cause_that_status_names_for_a_pending_pod() -> None:
    from ops.live.state import _CODES

    assert [words for _, words in _CODES if f"`{words}`" not in RUNBOOK] == []
