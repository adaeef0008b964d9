"""A revision's own commands, in its folder and in this Python, and what they say when they fail."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import NoReturn

from ops.failures import FAILED_CHECK, USAGE, RefusedError, UnclearError, UsageError

_PATIENCE = 30
"""Seconds for a rehearsal to take down what it started."""

_NOT_INHERITED = frozenset({"PYTHONPATH", "PYTHONSAFEPATH", "PYTHONHOME"})
"""They would put another checkout's modules before the revision's own."""

_SIGNALS: dict[int, str] = {
    # also SIGINT: a shell's background job inherits it ignored
    signal.SIGINT: "interrupted",
    signal.SIGTERM: "terminated",
    signal.SIGHUP: "hung up",
}


@dataclass(frozen=True, kw_only=True)
class Checkout:
    """The files of a revision."""

    title: str
    """As messages and the report call it: `main (ebc3b5c0)`."""
    folder: Path
    """Where its stack files lie."""
    proposed: bool
    """It is the change that is looked at: what is wrong with it is refused. Of the other one it only cannot be told."""


def run(side: Checkout, *arguments: str) -> str:
    """Return what `python -m <arguments>` of a revision writes to standard output.

    Raises:
        RefusedError: the proposed revision's program or stack file is wrong; its own lines.
        UsageError: it needs a secret that was not given.
        UnclearError: nothing can be told: the other revision is wrong, or the command is not there or crashes.
    """
    environment = {name: value for name, value in os.environ.items() if name not in _NOT_INHERITED}
    # a session of its own: Ctrl-C reaches us alone, and it ends in order, with the engine that it started
    process = subprocess.Popen(  # noqa: S603 - this Python, with no shell in between
        [sys.executable, "-m", *arguments],
        cwd=side.folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
        start_new_session=True,
    )
    try:
        out, said = process.communicate()
    except BaseException:
        _end(process)
        raise
    if process.returncode:
        raise _failure(side, arguments, process.returncode, said)
    return out


@contextmanager
def ending_in_order() -> Iterator[None]:
    """Let Ctrl-C, SIGTERM and a closed terminal unwind what was set up, so that temporary folders go."""

    def unwind(number: int, _frame: FrameType | None) -> NoReturn:
        for each in _SIGNALS:  # a second one must not cut the cleaning up short
            signal.signal(each, signal.SIG_IGN)
        sys.stderr.write(f"{_SIGNALS[number]}: nothing is left behind\n")
        raise SystemExit(128 + number)

    before = {number: signal.signal(number, unwind) for number in _SIGNALS}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _end(process: "subprocess.Popen[str]") -> None:
    process.terminate()
    try:
        process.communicate(timeout=_PATIENCE)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


def _failure(side: Checkout, arguments: Sequence[str], code: int, said: str) -> Exception:
    command = f"python -m {' '.join(it for it in arguments[:3] if not it.startswith('-'))}"
    lines = [line for line in said.splitlines() if line.strip()]
    if "--secret" in said and code == FAILED_CHECK:
        return UsageError(
            "the stack needs secrets, and a comparison decrypts none: give each with --secret PATH=VALUE (any value"
            f" does); {side.title} says:\n{said.strip()}"
        )
    if "Traceback (most recent call last)" in said:
        reason = next((it for it in reversed(lines) if not it.startswith((" ", "This is a bug"))), "no reason")
        text = f"{side.title}: `{command}` crashes: {reason}"
        return RefusedError(text) if side.proposed and code == FAILED_CHECK else UnclearError(text)
    if code == FAILED_CHECK and lines and not _missing(said):
        text = f"{side.title} is refused by its own program:\n{said.strip()}"
        return RefusedError(text) if side.proposed else UnclearError(f"cannot compare: {text}")
    reason = lines[-1].strip() if lines else f"exit code {code}"
    what = "has no" if _missing(said) or code == USAGE else "cannot run"
    return UnclearError(f"cannot compare: {side.title} {what} `{command}` as it is asked here: {reason}")


def _missing(said: str) -> bool:
    return "No module named" in said
