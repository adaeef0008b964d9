"""Values that no message may show: the data of Secrets, and what Pulumi marked as secret."""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rehearsal.providers.values import SECRET, SIGNATURE


class Hidden:
    """The secret values of one object."""

    def __init__(self, body: Mapping[str, Any]) -> None:
        leaves = set(_inside_wrappers(body))
        if body.get("kind") == "Secret":
            leaves |= {leaf for key in ("data", "stringData") for leaf in _leaves(body.get(key))}
        # As they are, as they were before base64, and as Go quotes them.
        leaves |= {decoded for leaf in leaves if (decoded := _decoded(leaf))}
        self._words = {form for leaf in leaves for form in (leaf, json.dumps(leaf)[1:-1], *leaf.split()) if form}

    def shows_in(self, message: str) -> bool:
        """Whether the message holds one of them as a word of its own."""
        return any(re.search(rf"(?<!\w){re.escape(word)}(?!\w)", message) for word in self._words)


def _inside_wrappers(value: Any) -> Iterator[str]:
    if isinstance(value, Mapping):
        if value.get(SIGNATURE) == SECRET:
            yield from _leaves(value.get("value"))
            return
        for item in value.values():
            yield from _inside_wrappers(item)
    elif isinstance(value, Sequence) and not isinstance(value, str):
        for item in value:
            yield from _inside_wrappers(item)


def _leaves(value: Any) -> Iterator[str]:
    if isinstance(value, Mapping):
        for key, item in value.items():
            if key != SIGNATURE:
                yield from _leaves(item)
    elif isinstance(value, Sequence) and not isinstance(value, str):
        for item in value:
            yield from _leaves(item)
    elif value is not None:
        yield str(value)


def _decoded(text: str) -> str | None:
    try:
        return base64.b64decode(text, validate=True).decode()
    except (binascii.Error, ValueError):
        return None
