"""Values of two revisions as Markdown shows them: whatever they hold, they stay one word of one line."""

import json

from pydantic import JsonValue

from ops.impact.leaves import Change

_LONGEST = 60
"""Characters of a value."""

_LED = 20
"""Characters of a beginning that two values have in common before they differ."""


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
    """Return what a leaf was and is. Of two long texts that begin alike the beginning is left out, not what differs."""
    was, now = change.before, change.after
    if isinstance(was, str) and isinstance(now, str) and max(len(was), len(now)) > _LONGEST:
        pairs = enumerate(zip(was, now, strict=False))
        alike = next((place for place, (old, new) in pairs if old != new), min(len(was), len(now)))
        if alike > _LED:
            was, now = f"...{was[alike - _LED :]}", f"...{now[alike - _LED :]}"
    return f"{value(was)} -> {value(now)}"


def seconds(number: float | None) -> str:
    """Return seconds to a tenth, and a dash for none."""
    return "-" if number is None else f"{number:.1f}"
