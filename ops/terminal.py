"""What people see: aligned columns that a pipe can read, and progress where somebody is watching."""

import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

MIB, GIB = 1024**2, 1024**3
ECHOED = 80
"""Characters of what somebody wrote that a message repeats."""


def columns(rows: Sequence[Sequence[str]]) -> str:
    """Return the rows, each cell as wide as the widest of its column; nothing is cut."""
    widths = [max(len(row[place]) for row in rows) for place in range(len(rows[0]))] if rows else []
    return "\n".join("  ".join(map(str.ljust, row, widths)).rstrip() for row in rows)


def echo(text: str) -> str:
    """Return what somebody wrote for the one line of a message: cut, and nothing in it that moves the cursor."""
    return plain(text if len(text) <= ECHOED else f"{text[:ECHOED]}...") or "''"


def plain(text: str) -> str:
    """Return what somebody else wrote, with nothing in it that moves the cursor or breaks the line."""
    return "".join(sign if sign.isprintable() else ascii(sign)[1:-1] for sign in text)


def size(count: int) -> str:
    """Return bytes as people read them: `218.0 MiB`."""
    return f"{count / GIB:.1f} GiB" if count >= GIB else f"{count / MIB:.1f} MiB"


@contextmanager
def progress(title: str) -> Iterator[Callable[[str], None]]:
    """Show what is going on, on standard error: one moving line in a terminal, else a line for each change."""
    if sys.stderr.isatty():
        from rich.console import Console  # noqa: PLC0415 - in a log nobody needs it
        from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn  # noqa: PLC0415

        shape = (SpinnerColumn(), TextColumn("{task.description}", markup=False), TimeElapsedColumn())
        with Progress(*shape, console=Console(stderr=True), transient=True) as bar:
            task = bar.add_task(title)
            yield lambda text: bar.update(task, description=f"{title}: {text}")
        return
    began, last = time.monotonic(), ""

    def say(text: str) -> None:
        nonlocal last
        if text != last:
            sys.stderr.write(f"{title}: {text} ({time.monotonic() - began:.0f} s)\n")
            sys.stderr.flush()
            last = text

    yield say
