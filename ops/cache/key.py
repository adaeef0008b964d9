"""`ops cache key`: a key with its inputs, and which of them moved."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import JsonValue

from ops.failures import RefusedError, UsageError
from ops.stack.keys import asked_for, keyed_server
from ops.stack.stack_file import Stack
from ops.terminal import columns
from serving.cache_key import CacheKey, cache_key, difference, explained


@dataclass(frozen=True, kw_only=True)
class Explanation:
    """A key, the facts behind it, and what moved."""

    key: CacheKey
    facts: Mapping[str, JsonValue]
    moved: Mapping[str, tuple[JsonValue, JsonValue]] | None
    """Facts before and after. None: not compared, or nothing to compare with."""
    is_new: bool = False
    """Compared with a stack file that does not have it."""

    def document(self) -> dict[str, Any]:
        """Return it for a program."""
        return {
            "engine": self.key.engine,
            "gpu": self.key.gpu,
            "model": self.key.model,
            "fingerprint": self.key.fingerprint,
            "exact": self.key.exact,
            "base": self.key.base,
            "facts": dict(self.facts),
            "new": self.is_new,
            "moved": None if self.moved is None else {name: list(pair) for name, pair in self.moved.items()},
        }


def explanation(stack: Stack, name: str, *, candidate: bool, before: Stack | None) -> Explanation:
    """Return the key of a server, and what moved since another stack file.

    Raises:
        UsageError: there is no such server.
        RefusedError: it has no candidate.
    """
    server = keyed_server(stack, asked_for(stack, name, candidate=candidate))
    facts = explained(server)
    moved, is_new = None, False
    if before:
        try:
            old = asked_for(before, name, candidate=candidate)
        except (UsageError, RefusedError):
            is_new = True
        else:
            moved = difference(explained(keyed_server(before, old)), facts)
    return Explanation(key=cache_key(server), facts=facts, moved=moved, is_new=is_new)


def document(found: Explanation, revision: str) -> str:
    """Return it for people: what moved first, as that is what was asked for.

    Args:
        found: the key.
        revision: it was compared with; empty: with none.
    """
    key = found.key
    parts = [(part, getattr(key, part)) for part in ("engine", "gpu", "model", "fingerprint", "exact", "base")]
    text = f"{columns(parts)}\n\n{columns([(name, json.dumps(value)) for name, value in found.facts.items()])}"
    return f"{_moved(found, revision)}\n\n{text}" if revision else text


def _moved(found: Explanation, revision: str) -> str:
    if found.is_new:
        return f"new since {revision}: the stack file did not have it"
    if not found.moved:
        return f"nothing moved since {revision}: the cache stays"
    lines = columns([(name, _or_absent(old), "->", _or_absent(new)) for name, (old, new) in found.moved.items()])
    return f"moved since {revision}, so another cache is needed (ops cache build):\n{lines}"


def _or_absent(value: JsonValue) -> str:
    return "absent" if value is None else json.dumps(value)
