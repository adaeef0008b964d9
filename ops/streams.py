"""Standard streams as a shell may leave them: closed, full, of a locale without the signs that are to be written."""

import io
import os
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any, TextIO


class Unheard:
    """Standard error, but nobody minds when it cannot be written: no result may be lost with what is said there."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        """Write it, if that can be."""
        with suppress(OSError):
            self._stream.write(text)
        return len(text)

    def flush(self) -> None:
        """Flush it, if that can be."""
        with suppress(OSError):
            self._stream.flush()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def fit() -> None:
    """Make streams that are closed (`2>&-`) empty ones, write signs that a locale lacks as ASCII, and bear with errors.

    To be called once, before anything is written.
    """
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        # Python has None for a descriptor that is closed
        if getattr(sys, name) is None:
            setattr(sys, name, Path(os.devnull).open(mode))  # noqa: SIM115 - for as long as the process runs
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")
    sys.stderr = Unheard(sys.stderr)
