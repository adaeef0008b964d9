"""What was provoked is put back: in the end, after an error, after Ctrl-C. What cannot be is named with its command."""

import signal
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from types import FrameType, TracebackType
from typing import Self, TypeVar

from ops.cluster.api import DeniedError
from ops.failures import Failure, UnclearError

ENDINGS = (signal.SIGTERM, signal.SIGHUP)
"""Signals that end a program without a word to it. Here they are a Ctrl-C."""

PATIENCE, PAUSE = 60.0, 2.0
"""Seconds that the API may be silent where something would be lost or left as it is, and between two attempts."""


Answer = TypeVar("Answer")


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
        self.broken: list[str] = []
        """What could not be put back, when the block has ended."""

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
        patiently(promise.act)
        self._left.remove(promise)

    def drop(self, promise: Promise) -> None:
        """Forget this one: it is so already."""
        self._left.remove(promise)

    def __enter__(self) -> Self:
        # `nohup` means that nobody's going ends it
        heard = [number for number in ENDINGS if signal.getsignal(number) is not signal.SIG_IGN]
        self._before = {number: signal.signal(number, _end) for number in heard}
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

    def _put_back(self, promise: Promise) -> None:
        try:
            patiently(promise.act)
        except Exception as failure:
            self.broken.append(promise.what)
            _named(promise, str(failure) if isinstance(failure, Failure) else repr(failure))
        else:
            _told(f"put back: {promise.what}")


def patiently(act: Callable[[], Answer]) -> Answer:
    """Return what something returns, tried again for `PATIENCE` while nobody answers.

    Raises:
        Failure: the last one, or one that stays the same.
    """
    deadline = time.monotonic() + PATIENCE
    while True:
        try:
            return act()
        except DeniedError:
            raise
        except UnclearError:
            if time.monotonic() > deadline:
                raise
            time.sleep(PAUSE)


def _named(promise: Promise, why: str) -> None:
    _told(f"not put back: {promise.what}: {why}; do it by hand: {promise.command}")


def _told(line: str) -> None:
    # a terminal that was closed, a pipe that nobody reads: no reason to leave the rest as it is
    with suppress(OSError):
        sys.stderr.write(f"{line}\n")
        sys.stderr.flush()


def _end(_number: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt
