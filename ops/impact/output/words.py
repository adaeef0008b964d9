"""Values of two revisions as Markdown shows them: whatever they hold, they stay one word of one line."""

import base64
import binascii
import difflib
import json
import re

from pydantic import JsonValue

from ops.impact.leaves import Change
from ops.markdown import code

_LONGEST = 60
"""Characters of a value."""

LINES = 3
"""Of a text of many lines, those that differ, where it has to be short."""

_BLOB = re.compile(r"[A-Za-z0-9+/]{80,}={0,2}")
"""What nobody reads: base64, as of userData."""

_LED = 20
"""Characters of a beginning that two values have in common before they differ."""


def value(it: JsonValue) -> str:
    """Return a value; `absent` for one that is not there."""
    if it is None:
        return "absent"
    return code(it if isinstance(it, str) and it else json.dumps(it), _LONGEST)


def changed(change: Change, most: int = LINES) -> str:
    """Return what a leaf was and is. Of two long texts that begin alike the beginning is left out, not what differs.

    Of texts with many lines it is the lines that differ, `most` of them, `-` before those that go and `+` before those
    that come; base64 is decoded for it, and what is no text then is only said to have changed.
    """
    was, now = _decoded(change.before), _decoded(change.after)
    if isinstance(was, bytes) or isinstance(now, bytes):
        return "changed"
    texts = ["" if it is None else it for it in (was, now)]
    if any(isinstance(it, str) and "\n" in it for it in texts):
        return _lines(str(texts[0]), str(texts[1]), most)
    if isinstance(was, str) and isinstance(now, str) and max(len(was), len(now)) > _LONGEST:
        pairs = enumerate(zip(was, now, strict=False))
        alike = next((place for place, (old, new) in pairs if old != new), min(len(was), len(now)))
        if alike > _LED:
            was, now = f"...{was[alike - _LED :]}", f"...{now[alike - _LED :]}"
    return f"{value(was)} -> {value(now)}"


def _lines(was: str, now: str, most: int) -> str:
    _, _, *found = [*difflib.unified_diff(was.splitlines(), now.splitlines(), n=0, lineterm="")] or ("", "")
    told = [code(f"{it[0]} {it[1:].strip()}") for it in found if it.startswith(("-", "+")) and it[1:].strip()]
    rest = len(told) - most
    shown = [*told[:most], *([f"{rest} more lines" if rest > 1 else "1 more line"] if rest > 0 else [])]
    return f"changed: {', '.join(shown) or 'blank lines'}"


def _decoded(it: JsonValue) -> JsonValue | bytes:
    if not isinstance(it, str) or not _BLOB.fullmatch(it):
        return it
    try:
        return base64.b64decode(it, validate=True).decode()
    except (binascii.Error, UnicodeDecodeError):
        return it.encode()


def seconds(number: float | None) -> str:
    """Return seconds to a tenth, and a dash for none."""
    return "-" if number is None else f"{number:.1f}"
