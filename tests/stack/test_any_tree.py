"""Whatever a stack file holds: it is parsed, or refused in printable lines that are counted right."""

from collections.abc import Iterator
from typing import Any

import pulumi
from hypothesis import given, settings
from hypothesis import strategies as st

from settings import parse
from tests.harness import REGION, stack_settings

JUNK: list[Any] = [
    *(None, True, False, 0, -1, 3.5, 10**40, "", "x", "é", "a\nb", "\x1b[31m", "\u2028", "true", "1e3", "a" * 3000),
    *([], {}, [None], ["a", "a"], [[[]]], {"x": 1}, {"[key]": 1}, {"": {}}, {"a\nb": {"c": 1}}),
    *("0.0.0.0/0", "::1", "s3://a", "--flag"),
]


def places(node: Any, at: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The path of every value below a node."""
    items = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
    for key, value in items:
        yield (*at, key)
        yield from places(value, (*at, key))


PLACES = list(places(stack_settings("dev")))
CHANGES = st.lists(st.tuples(st.sampled_from(PLACES), st.sampled_from(["set", "add", "drop"]), st.sampled_from(JUNK)))


@settings(max_examples=150, deadline=None)
@given(CHANGES, st.sampled_from([REGION, "eu-west-1", ""]))
def test_any_tree_is_parsed_or_refused_line_by_line(changes: list[tuple[Any, str, Any]], region: str) -> None:
    raw = stack_settings("dev")
    for (*above, last), change, junk in changes:
        node: Any = raw
        for step in above:
            node = node[step] if isinstance(node, dict) and step in node else None
        if not isinstance(node, dict) or last not in node:
            continue
        if change == "set":
            node[last] = junk
        elif change == "add":
            node[f"{last}x"] = junk
        else:
            del node[last]
    try:
        parse(raw, region)
    except pulumi.RunError as refusal:
        first, *lines = str(refusal).splitlines()
        count = "1 mistake" if len(lines) == 1 else f"{len(lines)} mistakes"
        assert first == f"the stack file has {count}:"
        assert len(set(lines)) == len(lines)
        assert all(line.isprintable() for line in lines)
