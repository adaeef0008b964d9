"""Faults of values, kept until what can be read has been."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType

from guardrails.value import MalformedError, NotKnownError


class Later:
    """Used as a context as often as a check reads something, it keeps what is unknown or malformed for the end."""

    def __init__(self) -> None:
        self._unknown: list[str] = []
        self._malformed: list[str] = []

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> bool:
        if isinstance(error, NotKnownError):
            self._unknown.append(str(error))
        elif isinstance(error, MalformedError):
            self._malformed.append(str(error))
        else:
            return False
        return True

    @contextmanager
    def of(self, name: str) -> Iterator[None]:
        """Keep what is unknown or malformed of another resource, under its name."""
        with self:
            try:
                yield
            except (NotKnownError, MalformedError) as error:
                raise type(error)(f"{name}: {error}") from None

    def end(self) -> None:
        """Raise what was kept, where a generator of parts ends.

        Raises:
            MalformedError: something was malformed.
            NotKnownError: something was not known.
        """
        if self._malformed:
            raise MalformedError("; ".join(dict.fromkeys(self._malformed)))
        for _ in self.rest():
            pass

    def rest(self) -> Iterator[str]:
        """Yield a sentence for each malformed value.

        Raises:
            NotKnownError: something was not known.
        """
        yield from dict.fromkeys(self._malformed)
        if self._unknown:
            raise NotKnownError(", ".join(dict.fromkeys(self._unknown)))
