"""Where a page or a picture goes."""

from collections.abc import Sequence
from pathlib import Path

from ops.failures import UsageError
from ops.terminal import echo

STANDARD = "-"
"""Stands for standard input, or output."""


def writable(option: str, path: str, files: Sequence[str]) -> None:
    """Refuse a place for a report where none can be written, before hours of measuring are read.

    Raises:
        UsageError: it is one of the files that are read, a folder, or in none.
    """
    place = Path(path)
    if path == STANDARD:
        raise UsageError(f"{option} -: no page goes to standard output; expected a file")
    if place.is_dir() or not place.parent.is_dir():
        raise UsageError(
            f"{option} {echo(path)}: {'a folder' if place.is_dir() else 'no such folder'}; expected a file"
        )
    if any(file != STANDARD and place.exists() and place.samefile(file) for file in files if Path(file).exists()):
        raise UsageError(f"{option} {echo(path)}: is one of the files to read; expected another name")


def write(option: str, path: str, text: str) -> None:
    """Write a file.

    Raises:
        UsageError: nobody may.
    """
    try:
        Path(path).write_text(text, encoding="utf-8")
    except OSError as error:
        raise UsageError(f"{option} {echo(path)}: {error.strerror}") from None
