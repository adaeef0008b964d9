"""How much room a text takes, before anybody draws it: never less than it does in a usual sans-serif face."""

import textwrap

_NARROW, _WIDE = frozenset("iljtfrI.,:;'|!()[]/ -"), frozenset("mwMW@%\u2014\u2192")

NARROW, MIDDLE, CAPITAL, WIDE, OTHER = 0.42, 0.64, 0.78, 1.0, 1.05
"""Shares of the font's size that a sign is wide. Of DejaVu Sans, the widest of the faces that browsers fall back to."""

BOLD = 1.12


def width(text: str, size: float, *, bold: bool = False) -> float:
    """Return the pixels that a text takes at most."""
    return sum(map(_share, text)) * size * (BOLD if bold else 1.0)


def _share(sign: str) -> float:
    if not sign.isascii():
        return OTHER
    if sign in _NARROW:
        return NARROW
    return WIDE if sign in _WIDE else CAPITAL if sign.isupper() else MIDDLE


def cut(text: str, room: float, size: float, *, bold: bool = False) -> str:
    """Return the text, without its middle where it takes more room than there is."""
    if width(text, size, bold=bold) <= room:
        return text
    for kept in range(len(text) - 1, 1, -1):
        head = (kept + 1) // 2
        shorter = f"{text[:head].rstrip()}\u2026{text[len(text) - kept + head :].lstrip()}"
        if width(shorter, size, bold=bold) <= room:
            return shorter
    return "\u2026"


def wrapped(text: str, room: float, size: float, lines: int) -> list[str]:
    """Return the text in at most so many lines, broken between words; what has no room loses its middle."""
    if not text.strip():
        return []
    for columns in range(len(text), 0, -1):
        parts = textwrap.wrap(text, columns, break_long_words=False, break_on_hyphens=False)
        if len(parts) > lines:
            break
        if all(width(part, size) <= room for part in parts):
            return parts
    if lines == 1:
        return [cut(text, room, size)]
    first, *rest = _words(text, room, size)
    return [cut(first, room, size), *(wrapped(" ".join(rest), room, size, lines - 1) if rest else [])]


def _words(text: str, room: float, size: float) -> list[str]:
    """The first line's words as one, then the others."""
    first, *rest = text.split()
    while rest and width(f"{first} {rest[0]}", size) <= room:
        first = f"{first} {rest.pop(0)}"
    return [first, *rest]
