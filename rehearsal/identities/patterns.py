"""Patterns of IAM: `*` is any text, `?` any one character."""

from __future__ import annotations

import re
from functools import cache

_VARIABLE = re.compile(r"\$\{[^}]*\}")


@cache
def overlap(one: str, other: str) -> bool:
    """Whether there is a text that both patterns match. A policy variable counts as any text."""
    one, other = _VARIABLE.sub("*", one), _VARIABLE.sub("*", other)
    if _differ(_head(one), _head(other)):
        return False
    # which beginnings of `other` some text matches that the beginning of `one` matches too
    reached = _past_stars(other, {0})
    for sign in one:
        reached = _past_stars(other, _after(sign, other, reached))
    return len(other) in reached


@cache
def covers(outer: str, inner: str) -> bool:
    """Whether `outer` matches all that `inner` matches. Never true by mistake; a policy variable covers nothing."""
    if _VARIABLE.search(outer):
        return False
    # the stars of `inner` stand for themselves: only a star of `outer` takes them
    signs = {"*": ".*", "?": "[^*]"}
    pattern = "".join(signs.get(sign) or re.escape(sign) for sign in outer)
    return re.fullmatch(pattern, _VARIABLE.sub("*", inner), re.DOTALL) is not None


def _head(pattern: str) -> str:
    return re.split(r"[*?]", pattern, maxsplit=1)[0]


def _differ(one: str, other: str) -> bool:
    length = min(len(one), len(other))
    return one[:length] != other[:length]


def _past_stars(pattern: str, reached: set[int]) -> set[int]:
    """A star may stand for nothing."""
    found = set(reached)
    for place in range(len(pattern)):
        if place in found and pattern[place] == "*":
            found.add(place + 1)
    return found


def _after(sign: str, pattern: str, reached: set[int]) -> set[int]:
    """Places in `pattern` behind what `sign` stands for."""
    if sign == "*":
        return set(range(min(reached), len(pattern) + 1)) if reached else set()
    found = set()
    for place in reached:
        if place < len(pattern):
            if pattern[place] == "*":
                found.add(place)
            elif sign in {"?", pattern[place]} or pattern[place] == "?":
                found.add(place + 1)
    return found
