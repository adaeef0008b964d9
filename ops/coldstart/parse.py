"""`ops coldstart parse`: the starts in logs and dumps that somebody has, as records."""

import functools
import shutil
import stat
import sys
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path
from typing import BinaryIO

from ops.coldstart.dumps import objects, start_of
from ops.coldstart.log import EngineStart, read_bytes
from ops.coldstart.measure.seen.fold import folded, is_new
from ops.coldstart.measure.seen.start import Seen
from ops.coldstart.measure.written import record as measured
from ops.coldstart.measure.written import role
from ops.coldstart.record import Record, Role, Subject
from ops.coldstart.server import Server
from ops.failures import RefusedError, UnclearError, UsageError
from ops.programs import RESTORE_LINE
from ops.terminal import echo
from serving.budget.timeline import Start

PIECE = 1 << 20
"""Bytes that are read at once."""

FAR = 120.0
"""Seconds before and after a pod's start in which its engine's log may begin, by clocks that are not quite the same."""

LATE = 60.0
"""Seconds from listening to Ready that need no word: a probe asks every few."""

UNSAID = "nobody says what was there before: counted as a restart; --situation says it"


def parsed(
    names: Sequence[str], situation: Start | None, version: str | None, server: Server | None
) -> list[tuple[str, Record]]:
    """Return what the files say, with the name of each start's log.

    Each log is a start. With dumps of the API there is one log, and both together are measured as `run` measures.

    Args:
        names: of the files.
        situation: what was there already; neither a log nor a pod tells a restart from a first start on a node. None:
            nobody says, and it is counted as a restart with a note.
        version: of the engine; None: the server's, or what the log says.
        server: whose starts they are; None: nobody says.

    Raises:
        UsageError: a file cannot be read; dumps without a server or without one log.
        RefusedError: the engine failed to start, or is another version than the server's; the dumps have no one pod
            that is Ready, with its node.
        UnclearError: a file has no start that ended, or none of a known version.
    """
    start: Start = situation or "restart"
    unsaid = () if situation else (UNSAID,)
    version = version or (server.settings.engine.version if server else None)
    with ExitStack() as ends:
        paths = {name: _path(name, ends) for name in dict.fromkeys(names)}
        dumps = {name: found for name, path in paths.items() if (found := objects(name, path)) is not None}
        logs = {name: path for name, path in paths.items() if name not in dumps}
        if not dumps:
            read = {name: _read(name, it, version, server) for name, it in logs.items()}
            return [(name, record(name, engine, start, server, unsaid)) for name, engine in read.items()]
        if server is None:
            raise UsageError("dumps of the API need --server: which pod is meant, and what acts on it")
        if len(logs) != 1:
            raise UsageError(f"dumps of the API go with one log of the engine; given are {len(logs)}")
        ((name, path),) = logs.items()
        seen = start_of((it for found in dumps.values() for it in found), server.name)
        engine = _read(name, path, version, server)
        _refuse_another_start(name, seen, engine)
        return [(name, _whole(seen, engine, start, server, unsaid))]


def _refuse_another_start(name: str, seen: Seen, engine: EngineStart) -> None:
    """Refuse a log that is not of the pod: cut to its start, all phases would be nothing."""
    if engine.clock != "runtime":
        return
    began = engine.first - (seen.node.ahead or 0.0)
    if not seen.created - FAR <= began <= seen.ready + FAR:
        far = abs(began - seen.created)
        raise RefusedError(
            f"{echo(name)}: begins {far:.0f} s {'after' if began > seen.created else 'before'} pod {seen.pod} was made:"
            " a log of another start, or another clock"
        )


def _whole(seen: Seen, engine: EngineStart, start: Start, server: Server, unsaid: Sequence[str]) -> Record:
    """Return what dumps and log say together, as `run` would have measured it."""
    phases = folded(seen, engine, restores=server.restores, primes=server.primes)
    what: Start = "fresh node" if is_new(seen) else "warm node" if start == "fresh node" else start
    notes = [f"the node is older than the pod: no {start}"] if what != start and not is_new(seen) else []
    # of a new node there is nothing to say
    notes += () if is_new(seen) else unsaid
    late = phases.phases.get("readiness")
    if late and late.seconds > LATE:
        notes.append(
            f"Ready {late.seconds:.0f} s after it listened: the API has the last time only, and readiness may have been"
            " lost and come again"
        )
    return measured(server, what, seen, phases, engine, restore=engine.restored or "", notes=notes, token=None)


def _path(name: str, ends: ExitStack) -> Path:
    """Return where a file lies. It is read several times: of standard input and of a pipe, a copy."""
    path = Path(name)
    if name == "-":
        if sys.stdin is None:
            raise UsageError("-: standard input is closed")
        return _copy(sys.stdin.buffer, ends)
    try:
        if not stat.S_ISFIFO(path.stat().st_mode):
            return path
        with path.open("rb") as pipe:
            return _copy(pipe, ends)
    except OSError as error:
        raise UsageError(f"{echo(name)}: {error.strerror}") from None


def _copy(source: BinaryIO, ends: ExitStack) -> Path:
    copy = Path(ends.enter_context(tempfile.TemporaryDirectory())) / "log"
    with copy.open("wb") as file:
        shutil.copyfileobj(source, file)
    return copy


def _read(name: str, path: Path, version: str | None, server: Server | None) -> EngineStart:
    try:
        with path.open("rb") as file:
            found = read_bytes(iter(functools.partial(file.read, PIECE), b""), version)
    except UnclearError as error:
        raise UnclearError(f"{echo(name)}: {error}") from None
    except OSError as error:
        raise UsageError(f"{echo(name)}: {error.strerror}") from None
    if server and server.settings.engine.version != found.version:
        here = f"servers.{server.name}.engine.version: {server.settings.engine.version}"
        raise RefusedError(f"{here}; {echo(name)} is a log of vLLM {found.version}")
    return found


def record(
    name: str,
    found: EngineStart,
    start: Start,
    server: Server | None,
    unsaid: Sequence[str] = (),
) -> Record:
    """Return what a log alone says, as a record. Name and errors are `parsed`'s."""
    if found.total is None:
        last = list(found.spans)[-1] if found.spans else "nothing"
        line = f"{echo(name)}: {'; '.join(found.notes)}; the last that it shows is {last}"
        raise (RefusedError if found.failed else UnclearError)(line)
    line_of_restore = RESTORE_LINE.search(found.restored or "")
    word = line_of_restore["outcome"] if line_of_restore else None
    what, unsure = role(server.techniques, word, found.compile) if server else (_role(found), "")
    total = round(found.total, 3)
    return Record(
        began=datetime.fromtimestamp(found.first, UTC) if found.clock == "runtime" else None,
        start=start,
        role=what,
        source="logs",
        subject=server.subject({}, None, None) if server else Subject(engine_version=found.version),
        phases=found.spans,
        total=total,
        unattributed=max(0.0, round(total - sum(span.seconds for span in found.spans.values()), 3)),
        restore=word,
        compile=found.compile,
        said=found.said,
        restarts=found.restarts,
        notes=tuple(filter(None, [*found.notes, unsure, *unsaid])),
    )


def _role(found: EngineStart) -> Role:
    """Return what a start was to the compile cache alone. One whose log does not tell may have filled it."""
    return "hit" if found.compile == "hit" else "none" if found.compile == "none" else "load"
