"""The file of tokens: what stands in it is what was meant, and what cannot is refused without being repeated."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from serving.front.tokens import LARGEST, BadTokenError, token_map, tokens_of

TOKEN = "abcdefghijklmnopqrstuvwx"  # noqa: S105 - of the tests
FORM = (
    "token 1: expected letters, digits and -._~+/ with = at the end (RFC 6750); white space, nothing else, separates"
    " tokens"
)


@pytest.mark.parametrize(
    ("tokens", "said"),
    [
        ([], "no token: nobody could call the server"),
        ([""], FORM),
        (["short"], "token 1: 5 characters; expected 24 to 1024"),
        ([TOKEN * 50], "token 1: 1200 characters; expected 24 to 1024"),
        ([TOKEN, TOKEN], "token 2: stands there twice"),
        *(
            ([TOKEN + bad], FORM)
            for bad in ('"', "'", "$", "\\", ";", "{", "}", " ", "\n", "\t", "\x00", "é", "#", "=a")
        ),
    ],
    ids=repr,
)
def test_a_token_that_cannot_stand_in_the_file_is_refused_and_not_repeated(tokens: list[str], said: str) -> None:
    with pytest.raises(BadTokenError) as refused:
        token_map(tokens)
    assert str(refused.value) == said


def test_more_tokens_than_a_Secret_holds_are_refused_with_the_sum() -> None:
    """The API server would refuse them in the middle of `up`."""
    tokens = [f"{number:01024}" for number in range(1100)]
    line = len(token_map(tokens[:1]))
    assert len(token_map(tokens[: LARGEST // line])) <= LARGEST
    with pytest.raises(BadTokenError) as refused:
        token_map(tokens[: LARGEST // line + 1])
    assert str(refused.value) == "1003 tokens make 1049138 bytes > 1048576 bytes, which a Secret holds"


@given(st.lists(st.from_regex(r"\A[A-Za-z0-9._~+/-]{24,60}={0,2}\Z"), min_size=1, max_size=4, unique=True), st.data())
def test_each_line_is_met_by_its_own_token_and_no_other(tokens: list[str], data: st.DataObject) -> None:
    lines = token_map(tokens).splitlines()
    expressions = [re.compile(line.removeprefix('"~').removesuffix('" 1;')) for line in lines]
    for token, expression in zip(tokens, expressions, strict=True):
        assert expression.search(f"Bearer {token}")
        other = data.draw(
            st.sampled_from(tokens).map(lambda it: it[:-1]) | st.just(token.swapcase()) | st.just(f"{token}x")
        )
        if other != token:
            assert not expression.search(f"Bearer {other}")
        assert not expression.search(f"x Bearer {token}")


@given(st.lists(st.from_regex(r"[A-Za-z0-9._~+/-]{24,40}={0,2}", fullmatch=True), min_size=1, max_size=3, unique=True))
def test_tokens_come_back_from_the_file_as_they_were(tokens: list[str]) -> None:
    assert tokens_of(token_map(tokens)) == tokens


@pytest.mark.parametrize("text", ["", "default 1;\n", f'"~^(?i:bearer) +{TOKEN}$" 0;\n', TOKEN])
def test_no_token_comes_from_what_is_no_such_file(text: str) -> None:
    assert tokens_of(text) == []
