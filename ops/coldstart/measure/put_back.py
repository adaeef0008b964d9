"""What was provoked is put back: in the end, after an error, after Ctrl-C. What cannot be is named with its command."""

import signal
import sys
from collections.abc import Callable
from dataclasses import dataclass
from types import FrameType, TracebackType
from typing import Self

from ops.failures import Failure

ENDINGS = (signal.SIGTERM, signal.SIGHUP)
"""Signals that end a program without a word to it. Here they are a Ctrl-C."""


@dataclass(frozen=True)
class Promise:
    """Something that is another way until it is put back."""

    what: str
    """What will be so again, for people: `replicas of Deployment inference/gemma: 1`."""
    command: str
    """With which somebody does it by hand."""
    act: Callable[[], object]
    """Does it. Doing it twice, or before anything was changed, does no harm."""


class PutBack:
    """Promises, kept in reverse order when the `with` block ends, however it ends."""

    def __init__(self) -> None:
        self._left: list[Promise] = []
        self._before: dict[signal.Signals, object] = {}

    def promise(self, what: str, command: str, act: Callable[[], object]) -> Promise:
        """Take it down. To be called before the change: between both, a Ctrl-C may come."""
        made = Promise(what, command, act)
        self._left.append(made)
        return made

    def keep(self, promise: Promise) -> None:
        """Put this one back now.

        Raises:
            Failure: it did not work; it is tried again in the end.
        """
        promise.act()
        self._left.remove(promise)

    def drop(self, promise: Promise) -> None:
        """Forget this one: it is so already."""
        self._left.remove(promise)

    def __enter__(self) -> Self:
        self._before = {number: signal.signal(number, _end) for number in ENDINGS}
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        try:
            while self._left:
                self._put_back(self._left[-1])
                self._left.pop()
        except KeyboardInterrupt:
            # a second one: whoever sends it wants the end
            for promise in reversed(self._left):
                _named(promise, "interrupted")
            raise
        finally:
            for number, handler in self._before.items():
                signal.signal(number, handler)  # type: ignore[arg-type]  # what `signal` itself returned

    @staticmethod
    def _put_back(promise: Promise) -> None:
        try:
            promise.act()
        except Failure as failure:
            _named(promise, str(failure))
        else:
            sys.stderr.write(f"put back: {promise.what}\n")


def _named(promise: Promise, why: str) -> None:
    sys.stderr.write(f"not put back: {promise.what}: {why}; do it by hand: {promise.command}\n")


def _end(_number: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt
