"""Values of a resource with the path that leads to them: what is unknown, missing or of a wrong type says where."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

UNKNOWNS = frozenset(
    {
        "1c4a061d-8072-4f0a-a4cb-0ff528b18fe7",
        "3eeb2bf0-c639-47a8-9e75-3b44932eb421",
        "04da6b54-80e4-46f7-96ec-b56ff0331ba9",
        "6a19a0b0-7e62-4c92-b797-7f8e31da9cc2",
        "030794c1-ac77-496b-92df-f27374a8bd58",
        "e48ece36-62e2-4504-bad9-02848725956a",
        "dd056dcd-154b-4c76-9bd3-c8f88648b5ff",
    }
)
"""What the engine sends for a value that only `up` knows, by type (pulumi-policy, `proxy.py`)."""


class NotKnownError(Exception):
    """A value that only `up` knows. The message is its path."""


class MalformedError(Exception):
    """A value of a type that the resource cannot have. The message is a sentence."""


@dataclass(frozen=True)
class Value:
    """A value below a resource. Reading it is where unknown and malformed come out; passing it on is free."""

    raw: Any
    path: str = ""

    def __getitem__(self, key: str | int) -> Value:
        """Return what lies below a key; a missing value where there is none.

        Raises:
            NotKnownError: this is not known.
            MalformedError: this is no mapping.
        """
        if isinstance(key, int):
            return Value(self.raw[key], f"{self.path}[{key}]")
        return Value(self.mapping().get(key), f"{self.path}.{key}" if self.path else key)

    def at(self, *keys: str) -> Value:
        """Return what lies below keys, one after the other."""
        found = self
        for key in keys:
            found = found[key]
        return found

    @property
    def is_missing(self) -> bool:
        """Whether nothing was given. An unknown value was."""
        return self.raw is None

    def known(self) -> Any:
        """Return it as it is, None where it is missing.

        Raises:
            NotKnownError: this is not known.
        """
        if isinstance(self.raw, str) and self.raw in UNKNOWNS:
            raise NotKnownError(self.path)
        return self.raw

    def mapping(self) -> Mapping[str, Any]:
        """Return the mapping that it is, an empty one where it is missing."""
        return {} if self.known() is None else self._of(Mapping, "a mapping")

    def fields(self) -> Iterator[tuple[str, Value]]:
        """Yield keys and what lies below them."""
        for key in self.mapping():
            yield key, self[key]

    def items(self) -> Iterator[Value]:
        """Yield the items of the list that it is, none where it is missing."""
        if self.known() is None:
            return
        if isinstance(self.raw, str):
            raise MalformedError(f"{self.path}: expected a list, found a text")
        for place, _ in enumerate(self._of(Sequence, "a list")):
            yield self[place]

    def one_or_more(self) -> Iterator[Value]:
        """Yield the items of a list, or the one text that may stand in its place, as in an IAM document."""
        if isinstance(self.known(), str):
            yield self
        else:
            yield from self.items()

    def text(self) -> str:
        """Return the text that it is, an empty one where it is missing."""
        found: str = "" if self.known() is None else self._of(str, "a text")
        return found

    def number(self) -> float | None:
        """Return the number that it is; None where it is missing."""
        found = self.known()
        if found is None:
            return None
        if isinstance(found, bool) or not isinstance(found, (int, float)):
            raise MalformedError(f"{self.path}: expected a number, found {_kind(found)}")
        return float(found)

    def flag(self) -> bool | None:
        """Return the truth value that it is; None where it is missing."""
        found: bool | None = None if self.known() is None else self._of(bool, "true or false")
        return found

    def document(self) -> Value:
        """Return what the JSON in this text says; a mapping is taken as it is."""
        found = self.known()
        if found is None or isinstance(found, Mapping):
            return self
        text = self.text()
        if any(unknown in text for unknown in UNKNOWNS):
            raise NotKnownError(self.path)
        try:
            return Value(json.loads(text), self.path)
        except ValueError as error:
            raise MalformedError(f"{self.path}: no JSON: {error}") from None

    def _of(self, kind: type, name: str) -> Any:
        found = self.known()
        if not isinstance(found, kind):
            raise MalformedError(f"{self.path}: expected {name}, found {_kind(found)}")
        return found


def _kind(value: Any) -> str:
    if isinstance(value, bool):
        return "true or false"
    if isinstance(value, str):
        return "a text"
    if isinstance(value, (int, float)):
        return "a number"
    return "a list" if isinstance(value, Sequence) else "a mapping"
