"""Where records go: a file, one line each, and standard output, for people or for programs."""

from io import TextIOWrapper
from pathlib import Path

import typer

from ops.coldstart.record import Record
from ops.failures import UsageError
from ops.terminal import columns, echo


class Sink:
    """Takes each record as it comes: what was measured is not lost with what comes after it."""

    def __init__(self, path: Path | None, *, as_json: bool) -> None:
        """Open the file, before anything is provoked.

        Raises:
            UsageError: nobody may write it.
        """
        self._json = as_json
        self._file: TextIOWrapper | None = None
        if path is not None:
            try:
                self._file = path.open("a", encoding="utf-8")
            except OSError as error:
                raise UsageError(f"--output {echo(str(path))}: {error.strerror}") from None

    def keep(self, record: Record, title: str = "") -> None:
        """Write and print it. `title`: of where it is from; empty: its server."""
        try:
            if self._file is not None:
                self._file.write(f"{record.line()}\n")
                self._file.flush()
        finally:
            # a full disk, or a pipe that nobody reads: the other one has it
            typer.echo(record.line() if self._json else table(record, title))


def table(record: Record, title: str = "") -> str:
    """Return a start as people read it: a line for each phase, the sum, and what there is to know."""
    subject = record.subject
    rows = [[phase, f"{span.seconds:8.1f} s"] for phase, span in record.phases.items()]
    rows.append(["unattributed", f"{record.unattributed:8.1f} s"])
    error = f", at most {subject.probe_seconds:g} s of it waiting for a probe" if subject.probe_seconds else ""
    rows.append(["total", f"{record.total:8.1f} s{error}"])
    if record.first_token is not None:
        rows.append(["first token", f"{record.first_token:8.1f} s"])
    facts = [f"caches: {record.role}", f"compile: {record.compile}", f"image: {record.pull}"]
    facts += [f"restore: {record.restore}"] if record.restore else []
    where = ", ".join(filter(None, (subject.instance_type, subject.capacity, subject.zone)))
    began = f" at {record.began.isoformat(timespec='seconds')}" if record.began else ""
    on = f" on {where or 'a node without labels'}" if record.source == "cluster" else f", vLLM {subject.engine_version}"
    head = f"{title or subject.server}: {record.start}{began}{on}; {', '.join(facts)}"
    return "\n".join(
        [head, *(f"  {line}" for line in columns(rows).splitlines()), *(f"  note: {it}" for it in record.notes)]
    )
