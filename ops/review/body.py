"""The comment: a line for each stack, the worst first, and the details folded away. Never longer than GitHub takes."""

from collections.abc import Iterator, Sequence

from ops.markdown import code
from ops.review.points import Point, points
from ops.review.results import Found
from ops.review.sections import Section, sections

MARKER = "<!-- vllm-eks: review of a pull request -->"
"""The first line, by which the comment is found again. Foreign text stands in code alone, and never first."""

LIMIT = 60_000
"""Bytes. GitHub takes 65,536 characters, and no character is less than a byte."""

_HEADLINES = LIMIT // 2
_POINTS = 6
"""Of a headline."""

_WRAP = 160
"""Bytes around a part, at most: its title, its fold, what says that it was cut."""


def body(found: Sequence[Found], *, commit: str = "", run: str = "") -> str:
    """Return the comment as Markdown.

    Args:
        found: of every stack.
        commit: that the results are of; empty: not said.
        run: address of the workflow's run; empty: not said.
    """
    told = sorted(((it, points(it)) for it in found), key=lambda pair: (_rank(pair[1]), pair[0].stack))
    heads = _heads(told)
    head = [MARKER, "### What this change does", "", *heads, ""]
    foot = [_foot(commit, run), ""]
    room = LIMIT - _bytes([*head, *foot]) - _WRAP
    parts = [(it.stack, part) for it, _ in told for part in sections(it)]
    named = list(dict.fromkeys(stack for stack, _ in parts))
    while room < _wrapped(parts):
        # the last is the least bad
        left_out = parts[-1][0]
        parts = [it for it in parts if it[0] != left_out]
    rest = len(named) - len({stack for stack, _ in parts})
    cut = [f"The details of {rest} more stacks are cut: a comment takes no more.", ""] if rest else []
    kept = _kept(parts, room - _wrapped(parts))
    return "\n".join([*head, *_details(parts, kept), *cut, *foot])


def _rank(said: Sequence[Point]) -> int:
    return min((it.weight for it in said), default=99)


def _heads(told: Sequence[tuple[Found, Sequence[Point]]]) -> list[str]:
    lines = [_headline(it, said) for it, said in told]
    shown: list[str] = []
    for line in lines:
        if _bytes([*shown, line]) > _HEADLINES:
            break
        shown.append(line)
    rest = len(lines) - len(shown)
    return [*shown, *([f"- and {rest} more stacks, which are cut here"] if rest else [])]


def _headline(found: Found, said: Sequence[Point]) -> str:
    rest = len(said) - _POINTS
    shown = [it.text for it in said[:_POINTS]]
    more = [f"{rest} more below"] if rest > 0 else []
    return f"- **{code(found.stack)}** ({_how(found)}): {'; '.join([*shown, *more]) or 'nothing to say'}"


def _how(found: Found) -> str:
    if found.rehearsed and found.aws:
        return "rehearsed without a cloud, and previewed against AWS"
    if found.aws:
        return "previewed against AWS, and not rehearsed"
    return "rehearsed without a cloud" if found.rehearsed else "neither rehearsed nor previewed"


def _foot(commit: str, run: str) -> str:
    of = f" at {code(commit)}" if commit else ""
    made = f" in [this run]({run})" if run else ""
    return (
        f"<sub>Written by the jobs of this pull request{of}{made}, with its own copy of the tools: whoever changes"
        " those can change what stands here.</sub>"
    )


def _wrapped(parts: Sequence[tuple[str, Section]]) -> int:
    """Return the bytes around all parts, and around the stacks that have them."""
    return _WRAP * (len(parts) + len({stack for stack, _ in parts}))


def _kept(parts: Sequence[tuple[str, Section]], room: int) -> dict[int, int]:
    """Return how many lines of each part are shown: the important ones take what room there is first."""
    kept = dict.fromkeys(range(len(parts)), 0)
    for place in sorted(kept, key=lambda it: parts[it][1].weight):
        for line in parts[place][1].lines:
            if (size := _bytes([line])) > room:
                room = 0
                break
            room -= size
            kept[place] += 1
    return kept


def _details(parts: Sequence[tuple[str, Section]], kept: dict[int, int]) -> Iterator[str]:
    for stack in dict.fromkeys(stack for stack, _ in parts):
        # a stack's name has no sign that HTML knows (results.py)
        yield from (f"<details><summary>{stack}</summary>", "")
        for place, (whose, part) in enumerate(parts):
            if whose == stack:
                yield from _part(part, kept[place])
        yield from ("</details>", "")


def _part(part: Section, count: int) -> Iterator[str]:
    rest = len(part.lines) - count
    cut = [f"- {rest} more cut: a comment takes no more"] if rest else []
    if part.folded:
        yield from (f"<details><summary>{part.title}: {len(part.lines)}</summary>", "")
        yield from (*part.lines[:count], *cut, "", "</details>", "")
    else:
        yield from (f"**{part.title}**", "", *part.lines[:count], *cut, "")


def _bytes(lines: Sequence[str]) -> int:
    return sum(len(line.encode()) + 1 for line in lines)
