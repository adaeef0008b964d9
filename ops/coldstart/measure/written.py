"""A start that was measured, as a record: what was started, what really happened, and what filled or used a cache."""

from collections.abc import Iterable
from datetime import UTC, datetime

from ops.coldstart.log import EngineStart
from ops.coldstart.measure.announce import SITUATIONS
from ops.coldstart.measure.provoke import Before
from ops.coldstart.measure.seen.fold import Folded, is_new
from ops.coldstart.measure.seen.start import Seen
from ops.coldstart.record import Compile, Record, Role
from ops.coldstart.server import Server
from ops.programs import RESTORE_LINE
from serving.budget.timeline import Start
from serving.techniques.cache_restore import CACHE_RESTORE
from serving.techniques.node_cache import NODE_CACHE

USED = frozenset({"hit", "present"})
"""Words of a restore that brought all there is, or found it."""


def happened(seen: Seen, before: Before) -> Start:
    """Return what kind of start it was, whatever was asked for."""
    if is_new(seen):
        return "fresh node"
    return "restart" if seen.node.name == before.node else "warm node"


WITH_RESTORE = "kubectl logs --timestamps --all-containers --prefix has it"
"""A log of the engine's container alone has no line of the container before it."""


def role(techniques: tuple[str, ...], restore: str | None, compiled: Compile) -> tuple[Role, str]:
    """Return whether a start filled caches or used them, and what there is to say of it (may be empty).

    Args:
        techniques: all that act on the server.
        restore: the word of the restore's line; None: there was none.
        compiled: what the engine's log says.
    """
    if NODE_CACHE.name not in techniques:
        return "none", ""
    restores = CACHE_RESTORE.name in techniques
    if compiled == "miss" or (restore is not None and restore not in USED):
        return "load", ""
    if compiled == "hit" and (not restores or restore in USED):
        return "hit", ""
    if compiled == "none" and restores and restore in USED:
        return "hit", ""
    if restores and restore is None:
        return "load", f"no line of the restore: counted as a start that fills caches; {WITH_RESTORE}"
    return "load", "the logs do not say whether caches were used: counted as a start that fills them"


def unlike(asked: str, start: Start, seen: Seen, before: Before) -> str:
    """Return that a start was not the one that was asked for; empty: it was."""
    if start == SITUATIONS[asked]:
        return ""
    return f"asked for {asked}, and it was a {start}: the pod came on {seen.node.name}, not {before.node}"


def record(
    server: Server,
    start: Start,
    seen: Seen,
    folded: Folded,
    engine: EngineStart | None,
    *,
    restore: str,
    notes: Iterable[str],
    token: float | None,
) -> Record:
    """Return the record of a pod's start.

    Args:
        server: whose pod it is.
        start: what kind of start it was.
        seen: what the API says.
        folded: its phases.
        engine: what the engine's log says; None: it could not be read.
        restore: log of the container that restores.
        notes: what there is to say beside; empty ones are left out.
        token: seconds from a first request to its first token; None: not measured.
    """
    said = list(folded.notes)
    line = RESTORE_LINE.search(restore)
    word = line["outcome"] if line else None
    compiled: Compile = engine.compile if engine else "unknown"
    what, unsure = role(server.techniques, word, compiled)
    if start == "warm node" and (word == "present" or seen.pull.how == "already present"):
        said.append(f"{seen.node.name} had the image or the cache already")
    said += [*(engine.notes if engine else ()), *filter(None, [*notes, unsure])]
    return Record(
        # as the API has it, without the half second of `clock.moment`
        began=datetime.fromtimestamp(int(seen.created), UTC),
        start=start,
        role=what,
        source="cluster",
        subject=server.subject(seen.node.labels, seen.image, seen.probe_seconds),
        phases=folded.phases,
        total=folded.total,
        unattributed=folded.unattributed,
        ready=folded.total,
        first_token=None if token is None else round(folded.total + token, 3),
        pull=seen.pull.how,
        restore=word,
        compile=compiled,
        said=engine.said if engine else {},
        restarts=seen.restarts,
        notes=said,
    )
