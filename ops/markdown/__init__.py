"""What somebody else wrote, inside Markdown that GitHub shows: it stays text, whatever it is.

In code GitHub makes no mention of `@name`, no link of an address, a number or a commit, and reads no HTML (GitHub
Flavored Markdown, code spans and fenced code blocks). So foreign text stands nowhere else.
"""

import re

_TICKS = re.compile("`+")
_EMPTY = "''"


def code(text: str, longest: int = 160) -> str:
    """Return a text as code, which no sign in it can end. It is one line, also of a list; a table needs more."""
    # two ticks with nothing in between would open a span that goes on until the next two
    whole = _line(text.replace("`", "'")) or _EMPTY
    return f"`{whole[:longest]}...`" if len(whole) > longest else f"`{whole}`"


def fenced(text: str, longest: int | None = None) -> list[str]:
    """Return the lines of a block that shows a text of many lines; nothing in it can end the block.

    Args:
        text: the whole text.
        longest: characters of it that are shown, the last ones: a failure is told at the end. None: all.
    """
    cut = longest is not None and len(text) > longest
    shown = text[-longest:] if cut and longest is not None else text
    fence = "`" * max(3, 1 + max((len(it) for it in _TICKS.findall(shown)), default=0))
    return [f"{fence}text", *(["..."] if cut else []), *map(_line, shown.splitlines()), fence]


def _line(text: str) -> str:
    return "".join(sign if sign.isprintable() else " " for sign in text)
