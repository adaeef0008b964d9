"""Reading on where something cannot be read: what else there is is looked at all the same."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from guardrails.rule import Resource
from guardrails.value import MalformedError, NotKnownError, Value


@dataclass(frozen=True)
class _Unreadable(Value):
    fault: NotKnownError | MalformedError = field(default_factory=NotKnownError)

    def known(self) -> Any:
        raise self.fault


def unreadable(value: Value, fault: NotKnownError | MalformedError) -> Value:
    """Return a value that says its fault when it is read, so a rule comes to it after it came to others."""
    return _Unreadable(value.raw, value.path, fault)


def each(value: Value) -> Iterator[Value]:
    """Yield the items of a list; where it cannot be read, one value that says so when it is read."""
    try:
        yield from value.items()
    except (NotKnownError, MalformedError) as fault:
        yield unreadable(value, fault)


def below(value: Value, *keys: str) -> Value:
    """Return what lies below keys, one after the other; where it cannot be reached, one that says so when read."""
    try:
        return value.at(*keys)
    except (NotKnownError, MalformedError) as fault:
        return unreadable(value, fault)


class Gathering:
    """What a check over several things could not read. Said in the end, so it hides nothing of the others."""

    def __init__(self) -> None:
        self._unknown: dict[str, None] = {}
        self._malformed: dict[str, None] = {}

    @property
    def missed(self) -> int:
        """How much could not be read, so what was not found may be there."""
        return len(self._unknown) + len(self._malformed)

    @contextmanager
    def reading(self, of: Resource | None = None) -> Iterator[None]:
        """Read something, of another resource than the part at hand where it is named."""
        try:
            yield
        except NotKnownError as path:
            self._unknown[f"{path} of {of.name}" if of else str(path)] = None
        except MalformedError as fault:
            self._malformed[f"{of.name}: {fault}" if of else str(fault)] = None

    def ended(self) -> Iterator[str]:
        """Yield what is malformed.

        Raises:
            NotKnownError: something is not known; the message is all paths.
        """
        yield from self._malformed
        if self._unknown:
            raise NotKnownError("; ".join(self._unknown))
