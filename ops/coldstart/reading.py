"""The files of measured starts: each start once, in whatever file it is."""

import sys
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

from ops.coldstart.record import Record, read
from ops.failures import UnclearError, UsageError
from ops.markup.output import STANDARD
from ops.terminal import echo


def records(files: Sequence[str]) -> tuple[tuple[Record, ...], int]:
    """Return the starts of the files, and how many of their lines are another's copy.

    Args:
        files: paths; `-` is standard input.

    Raises:
        UsageError: a file is not there, or nobody may read it.
        UnclearError: a line is no measured start.
    """
    found = [record for file in dict.fromkeys(files) for record in _of(file)]
    # of a log without times two starts may be the same to the millisecond; of one with a time there is no second
    kept = {record.line() if record.began else (place,): record for place, record in enumerate(found)}
    return tuple(kept.values()), len(found) - len(kept)


def _of(file: str) -> Sequence[Record]:
    with ExitStack() as closing:
        if file == STANDARD and sys.stdin is None:
            raise UsageError("-: standard input is closed")
        try:
            stream = sys.stdin if file == STANDARD else closing.enter_context(Path(file).open(encoding="utf-8"))
            return list(read(echo(file), stream))
        except OSError as error:
            raise UsageError(f"{echo(file)}: {error.strerror}") from None
        except UnicodeDecodeError:
            raise UnclearError(f"{echo(file)}: not a file of measured starts: not UTF-8") from None
