"""A server program in the background that never outlives this Python process."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from rehearsal.toolchain.executable import Executable

_KEEPER = Path(__file__).with_name("keeper.py")
# What klog puts before its text: severity, date, time, thread.
_KLOG = re.compile(r"^[IWEF]\d{4} [\d:.]+ +\d+ ")
_KEEPER_SECONDS = 3.0
_LAST_LINES, _LINE_LENGTH = 3, 240


class Process:
    """A running program, its log and, when it has stopped, its last words."""

    def __init__(self, executable: Executable, arguments: Sequence[str], *, log: Path, home: Path) -> None:
        self.title = f"{executable.path.name} v{executable.version}"
        self.log = log
        with log.open("wb") as output:
            self._keeper = subprocess.Popen(  # noqa: S603 - our keeper and a program of the toolchain
                [sys.executable, "-I", "-S", str(_KEEPER), "--", str(executable.path), *arguments],
                # Its end of this pipe closes when we are gone, by whatever signal.
                stdin=subprocess.PIPE,
                stdout=output,
                stderr=subprocess.STDOUT,
                cwd=home,
                # Not the user's environment: ETCD_* variables are flags.
                env={"PATH": os.environ.get("PATH", os.defpath), "HOME": str(home)},
                start_new_session=True,
            )

    def stopped(self) -> str | None:
        """One line with the exit code and the end of the log; None while it runs."""
        code = self._keeper.poll()
        if code is None:
            return None
        return f"{self.title} stopped (exit {code if code >= 0 else 128 - code}); {self.last_lines()}"

    def last_lines(self) -> str:
        """The end of the log on one line."""
        text = self.log.read_text(encoding="utf-8", errors="replace")
        lines = [_KLOG.sub("", line).strip()[:_LINE_LENGTH] for line in text.splitlines() if line.strip()]
        return f"last lines: {' | '.join(lines[-_LAST_LINES:])}" if lines else "it wrote nothing"

    def kill(self) -> None:
        """End it at once: its data are thrown away, and a graceful stop takes the API server a minute."""
        if self._keeper.stdin is not None:
            self._keeper.stdin.close()
        try:
            code = self._keeper.wait(timeout=_KEEPER_SECONDS)
        except subprocess.TimeoutExpired:
            code = -signal.SIGKILL
        # A keeper that ended by itself saw the program end, and the number of its group may be another's by now.
        if code < 0:
            # macOS answers EPERM for a group of zombies.
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self._keeper.pid, signal.SIGKILL)
        self._keeper.wait()


@contextlib.contextmanager
def running(executable: Executable, arguments: Sequence[str], *, log: Path, home: Path) -> Iterator[Process]:
    """The program, killed at the end. `log` is overwritten; `home` is its working directory."""
    process = Process(executable, arguments, log=log, home=home)
    try:
        yield process
    finally:
        process.kill()
