"""Values of two revisions as Markdown shows them: whatever they hold, they stay one word of one line."""

import json

from pydantic import JsonValue

from ops.impact.leaves import Change

_LONGEST = 60
"""Characters of a value."""


def code(text: str, longest: int = 160) -> str:
    """Return a text as code, which no sign in it can end."""
    whole = "".join(sign if sign.isprintable() else " " for sign in text.replace("`", "'"))
    return f"`{whole[:longest]}...`" if len(whole) > longest else f"`{whole}`"


def value(it: JsonValue) -> str:
    """Return a value; `absent` for one that is not there."""
    if it is None:
        return "absent"
    return code(it if isinstance(it, str) and it else json.dumps(it), _LONGEST)


def changed(change: Change) -> str:
    """Return what a leaf was and is."""
    return f"{value(change.before)} -> {value(change.after)}"


def seconds(number: float | None) -> str:
    """Return seconds to a tenth, and a dash for none."""
    return "-" if number is None else f"{number:.1f}"
