"""What a user has excepted from a rule."""

from __future__ import annotations

from fnmatch import fnmatchcase

from guardrails.rule import Around


def excepted(name: str, around: Around) -> bool:
    """Return whether one of the rule's `exceptions`, patterns as a shell has them, means a name."""
    return any(fnmatchcase(name, it) for it in around.config["exceptions"])
