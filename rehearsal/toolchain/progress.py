"""Elapsed time on the terminal for steps that take more than a moment. Standard library only."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TextIO

_QUIET = 2.0
"""Seconds before a step says anything: short steps leave no line."""
_TERMINAL_EVERY = 0.5
_LOG_EVERY = 15.0


class Step:
    """A running step; `detail` is shown behind the elapsed time."""

    def __init__(self, title: str, stream: TextIO) -> None:
        self.detail = ""
        self._title = title
        self._stream = stream
        self._started = time.monotonic()
        self._spoke = False
        self._ended = threading.Event()
        self._ticker = threading.Thread(target=self._tick, daemon=True)

    def start(self) -> None:
        """Begin to count."""
        self._ticker.start()

    def end(self, outcome: str) -> None:
        """Stop; say how long it took if the step had said anything (or failed)."""
        self._ended.set()
        self._ticker.join()
        if self._spoke:
            self._say(f"{self._title}: {outcome} after {clock(self._elapsed())}", last=True)

    def _elapsed(self) -> float:
        return time.monotonic() - self._started

    def _tick(self) -> None:
        if self._ended.wait(_QUIET):
            return
        terminal = self._stream.isatty()
        while True:
            detail = f"  {self.detail}" if self.detail else ""
            self._say(f"{self._title} ... {clock(self._elapsed())}{detail}", last=not terminal)
            if self._ended.wait(_TERMINAL_EVERY if terminal else _LOG_EVERY):
                return

    def _say(self, text: str, *, last: bool) -> None:
        self._spoke = True
        if self._stream.isatty():
            # Clear to the end of the line: the text before may have been longer.
            self._stream.write(f"\r{text}\x1b[K" + ("\n" if last else ""))
        else:
            self._stream.write(f"{text}\n")
        self._stream.flush()


def clock(seconds: float) -> str:
    """`4.2 s` below a minute, `3 min 07 s` above."""
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest:02d} s"


@contextmanager
def step(title: str, stream: TextIO | None = None) -> Iterator[Step]:
    """Show `title` with the elapsed time on standard error while the block runs."""
    running = Step(title, stream or sys.stderr)
    running.start()
    try:
        yield running
    except BaseException:
        running.end("failed")
        raise
    running.end("done")


def _main() -> int:
    title, separator, *command = sys.argv[1:]
    if separator != "--" or not command:
        sys.stderr.write("usage: python3 -m rehearsal.toolchain.progress TITLE -- COMMAND...\n")
        return 2
    with step(title):
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)  # noqa: S603 - the Makefile's command
    sys.stdout.write(done.stdout)
    return done.returncode


if __name__ == "__main__":
    sys.exit(_main())
