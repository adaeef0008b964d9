"""How a command ends when it does not end well. Each has its exit code, and a message for people."""

import traceback
from pathlib import Path
from typing import ClassVar

OK, FAILED_CHECK, USAGE, UNCLEAR, INTERRUPTED = 0, 1, 2, 3, 130
"""INTERRUPTED: Ctrl-C. The others are those of the programs in the pods too: serving/jobs states two of them again,
because `--help` imports no SDK."""


class Failure(Exception):  # noqa: N818 - the three below are its errors
    """Ends a command. The message is one line for each thing that is wrong."""

    code: ClassVar[int]


class RefusedError(Failure):
    """A check failed, or what was asked for cannot be: asked again, the answer is the same."""

    code = FAILED_CHECK


class UsageError(Failure):
    """It was asked in a way that no stack could answer."""

    code = USAGE


class UnclearError(Failure):
    """Could not tell: no credentials, no rights, no answer. Asked again, the answer may be another."""

    code = UNCLEAR


def broken_program(error: BaseException) -> RefusedError | None:
    """Return the refusal of a folder whose own modules crash while they are imported; None for any other error.

    A command imports the program (`settings.py` and below) when it runs: a mistake there is no bug of the command.
    """
    frames = [it for it in traceback.extract_tb(error.__traceback__) if not it.filename.startswith("<frozen")]
    if not any(it.name == "<module>" for it in frames) and not isinstance(error, ImportError | SyntaxError):
        return None
    file, line = frames[-1].filename, frames[-1].lineno
    if isinstance(error, SyntaxError) and error.filename:
        file, line = error.filename, error.lineno
    place = Path(file)
    shown = place.relative_to(Path.cwd()) if place.is_relative_to(Path.cwd()) else place
    reason = traceback.format_exception_only(error)[-1].strip()
    return RefusedError(f"the program in this folder cannot be loaded: {shown}:{line}: {reason}")
