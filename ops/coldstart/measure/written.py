"""A start that was measured, as a record: what was started, what really happened, and what filled or used a cache."""

from collections.abc import Mapping
from datetime import UTC, datetime

from ops.coldstart.log import EngineStart
from ops.coldstart.measure.announce import SITUATIONS
from ops.coldstart.measure.provoke import INSTANCE_LABEL, Before
from ops.coldstart.measure.seen.fold import Folded, is_new
from ops.coldstart.measure.seen.start import Seen
from ops.coldstart.measure.target import Target
from ops.coldstart.record import Compile, Record, Role, Subject
from ops.programs import RESTORE_LINE
from serving.budget.timeline import Start
from serving.cache_key.server import server_key
from serving.techniques import TECHNIQUES
from serving.techniques.cache_restore import CACHE_RESTORE
from serving.techniques.node_cache import NODE_CACHE

CAPACITY_LABEL, ZONE_LABEL = "karpenter.sh/capacity-type", "topology.kubernetes.io/zone"
"""Of nodes, by Karpenter and by Kubernetes."""

USED = frozenset({"hit", "present"})
"""Words of a restore that brought all there is, or found it."""


def subject(target: Target, labels: Mapping[str, str], image: str | None, probe_seconds: float | None) -> Subject:
    """Return what was started.

    Args:
        target: the server.
        labels: of the node.
        image: as the node pulls it.
        probe_seconds: between two questions for readiness.
    """
    settings, names = target.settings, target.techniques
    capacity = labels.get(CAPACITY_LABEL)
    return Subject(
        stack=target.stack.name,
        region=target.stack.region,
        server=target.name,
        model=str(settings.model.uri),
        model_gib=float(settings.model.size_gib),
        engine_version=settings.engine.version,
        image=image,
        instance_type=labels.get(INSTANCE_LABEL),
        capacity=capacity if capacity in {"spot", "on-demand", "reserved"} else None,
        zone=labels.get(ZONE_LABEL),
        preset=settings.preset,
        techniques=[name for name in TECHNIQUES if name in names],
        fingerprint=server_key(target.situation, settings.chosen).fingerprint,
        tensor_parallel=settings.engine.tensor_parallel,
        probe_seconds=probe_seconds,
    )


def happened(seen: Seen, before: Before) -> Start:
    """Return what kind of start it was, whatever was asked for."""
    if is_new(seen):
        return "fresh node"
    return "restart" if seen.node.name == before.node else "warm node"


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
    return "load", "the logs do not say whether caches were used: counted as a start that fills them"


def record(
    target: Target,
    asked: str,
    seen: Seen,
    folded: Folded,
    engine: EngineStart | None,
    *,
    before: Before,
    restore: str,
    notes: list[str],
    token: float | None,
) -> Record:
    """Return the record of a pod's start.

    Args:
        target: the server.
        asked: the situation that was asked for.
        seen: what the API says.
        folded: its phases.
        engine: what the engine's log says; None: it could not be read.
        before: what was there before.
        restore: log of the container that restores.
        notes: what there is to say beside.
        token: seconds from a first request to its first token; None: not measured.
    """
    start, said = happened(seen, before), list(folded.notes)
    if start != SITUATIONS[asked]:
        said.append(f"asked for {asked}, and it was a {start}: the pod came on {seen.node.name}, not {before.node}")
    line = RESTORE_LINE.search(restore)
    word = line["outcome"] if line else None
    compiled: Compile = engine.compile if engine else "unknown"
    what, unsure = role(target.techniques, word, compiled)
    if start == "warm node" and (word == "present" or seen.pull.how == "already present"):
        said.append(f"{seen.node.name} had the image or the cache already")
    said += [*(engine.notes if engine else ()), *notes, *filter(None, [unsure])]
    return Record(
        # as the API has it, without the half second of `clock.moment`
        began=datetime.fromtimestamp(int(seen.created), UTC),
        start=start,
        role=what,
        source="cluster",
        subject=subject(target, seen.node.labels, seen.image, seen.probe_seconds),
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
