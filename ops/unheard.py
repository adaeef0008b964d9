"""Standard error that may be full or closed: what is said there is for people, and no result may be lost with it."""

import os
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any, TextIO


class Unheard:
    """Standard error, but nobody minds when it cannot be written."""

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


def bear_with_standard_error() -> None:
    """Let no write to standard error end the program. One that was closed at the start goes nowhere."""
    # Python has None for a descriptor that is closed
    stream = sys.stderr or Path(os.devnull).open("w")  # noqa: SIM115 - it is there for the whole run
    sys.stderr = Unheard(stream)
