"""`ops coldstart parse`: the starts in logs that somebody has, as records."""

import functools
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import BinaryIO

from ops.coldstart.log import EngineStart, read_bytes
from ops.coldstart.record import Record, Role, Subject
from ops.failures import RefusedError, UnclearError, UsageError
from ops.terminal import columns, echo
from serving.budget.timeline import Start

PIECE = 1 << 20
"""Bytes that are read at once."""


def parsed(name: str, situation: Start, version: str | None) -> Record:
    """Return the last start in a log.

    Args:
        name: of the file, `-` for standard input.
        situation: what was there already: an engine's log does not tell.
        version: of the engine; None: the log says.

    Raises:
        UsageError: there is no such file, or it cannot be read.
        RefusedError: the engine failed to start.
        UnclearError: it has no start that ended, or none of a known version.
    """
    with _opened(name) as file:
        try:
            found = read_bytes(iter(functools.partial(file.read, PIECE), b""), version)
        except UnclearError as error:
            raise UnclearError(f"{echo(name)}: {error}") from None
        except OSError as error:
            raise UsageError(f"{echo(name)}: {error.strerror}") from None
    return record(name, found, situation)


def record(name: str, found: EngineStart, situation: Start) -> Record:
    """Return what a log says as a record. Name and errors are `parsed`'s."""
    if found.total is None:
        last = list(found.spans)[-1] if found.spans else "nothing"
        line = f"{echo(name)}: {'; '.join(found.notes)}; the last that it shows is {last}"
        raise (RefusedError if "the engine failed to start" in found.notes else UnclearError)(line)
    total = round(found.total, 3)
    return Record(
        began=datetime.fromtimestamp(found.first, UTC) if found.clock == "runtime" else None,
        start=situation,
        role=role(found),
        source="logs",
        subject=Subject(engine_version=found.version),
        phases=found.spans,
        total=total,
        unattributed=max(0.0, round(total - sum(span.seconds for span in found.spans.values()), 3)),
        compile=found.compile,
        said=found.said,
        restarts=found.restarts,
        notes=found.notes,
    )


def role(found: EngineStart) -> Role:
    """Return what the start was to the compile cache. One whose log does not tell is no improvement: it may fill it."""
    return "hit" if found.compile == "hit" else "none" if found.compile == "none" else "load"


def table(name: str, found: Record) -> str:
    """Return a record for people: its phases, and what is left."""
    rows = [("phase", "begin", "end", "seconds")]
    rows += [(phase, _seconds(it.begin), _seconds(it.end), _seconds(it.seconds)) for phase, it in found.phases.items()]
    rows += [
        ("unattributed", "", "", _seconds(found.unattributed)),
        ("total", _seconds(0.0), _seconds(found.total), _seconds(found.total)),
    ]
    width = [max(len(row[place]) for row in rows) for place in range(4)]
    aligned = [(row[0], *(cell.rjust(size) for cell, size in zip(row[1:], width[1:], strict=True))) for row in rows]
    words = {"hit": "a full hit", "miss": "compiled", "none": "does not compile", "unknown": "not told"}
    head = f"{echo(name)}: vLLM {found.subject.engine_version}, torch.compile: {words[found.compile]}"
    return "\n".join([head, columns(aligned), *(f"note: {note}" for note in found.notes)])


def _seconds(value: float) -> str:
    return f"{value:.1f}"


@contextmanager
def _opened(name: str) -> Iterator[BinaryIO]:
    if name == "-":
        if sys.stdin is None:
            raise UsageError("-: standard input is closed")
        yield sys.stdin.buffer
        return
    try:
        with Path(name).open("rb") as file:
            yield file
    except OSError as error:
        raise UsageError(f"{echo(name)}: {error.strerror}") from None
