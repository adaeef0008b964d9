"""How a command ends when it does not end well. Each has its exit code, and a message for people."""

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
