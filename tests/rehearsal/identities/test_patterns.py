"""Two patterns: whether some text is both, and whether one holds all of the other."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rehearsal.identities.patterns import covers, overlap

PATTERNS = st.text("ab*?", max_size=6)
TEXTS = st.text("ab", max_size=8)


def matches(pattern: str, text: str) -> bool:
    signs = {"*": ".*", "?": "."}
    return re.fullmatch("".join(signs.get(it, re.escape(it)) for it in pattern), text) is not None


@given(PATTERNS, PATTERNS, TEXTS)
def test_what_both_match_is_an_overlap(one: str, other: str, text: str) -> None:
    if matches(one, text) and matches(other, text):
        assert overlap(one, other)


@given(PATTERNS, TEXTS)
def test_a_plain_text_overlaps_what_matches_it_alone(pattern: str, text: str) -> None:
    assert overlap(pattern, text) == overlap(text, pattern) == matches(pattern, text)


@given(PATTERNS, PATTERNS, TEXTS)
def test_what_is_covered_holds_nothing_else(outer: str, inner: str, text: str) -> None:
    if covers(outer, inner) and matches(inner, text):
        assert matches(outer, text)


@pytest.mark.parametrize(
    ("one", "other", "both", "all_of_it"),
    [
        ("vllm-cache/*", "vllm-cache/e/g/m/1/*", True, True),
        ("vllm-cache/e/*", "vllm-cache/*", True, False),
        ("vllm-cache/*/manifest.json", "vllm-cache/e/*", True, False),
        ("models/*", "vllm-cache/*", False, False),
        ("models/${aws:PrincipalTag/x}/*", "models/a/*", True, False),
        ("*", "anything", True, True),
        ("a?c", "a*c", True, False),
    ],
)
def test_keys_of_a_bucket(one: str, other: str, both: bool, all_of_it: bool) -> None:
    assert (overlap(one, other), covers(one, other)) == (both, all_of_it)
