"""From what was seen to phases: one after another, none over another, and what fits in none stays unattributed."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from ops.coldstart.log import EngineStart
from ops.coldstart.measure.seen.clock import APART
from ops.coldstart.measure.seen.start import Seen
from ops.coldstart.record import Span
from serving.budget.timeline import Phase
from serving.pod import CONTAINER
from serving.techniques.node_cache import PREPARER

ROUNDING = 1.0
"""Seconds by which times of whole seconds may contradict each other: nobody needs to know of it."""


@dataclass(frozen=True, kw_only=True)
class Folded:
    """The seconds of a start."""

    phases: Mapping[Phase, Span]
    total: float
    unattributed: float
    notes: Sequence[str]


@dataclass(frozen=True)
class _Piece:
    phase: Phase
    begin: float
    end: float


def folded(seen: Seen, engine: EngineStart | None, *, restores: bool, primes: bool) -> Folded:
    """Return the phases of a start, counted from the pod's creation to its first pass of readiness.

    Args:
        seen: what the API says.
        engine: what the engine's log says; None: it could not be read.
        restores: the container `PREPARER` restores a cache, and does not only make a folder for one.
        primes: the server sleeps and wakes once before it takes traffic.
    """
    moved, said = _ahead(seen)
    ready = seen.ready - moved
    # Ready is not before the creation, whatever the clocks say
    total = max(ready - seen.created, 0.0)
    notes = [said] if said else []
    if ready < seen.created - ROUNDING:
        notes.append(f"Ready {seen.created - ready:.1f} s before the pod's creation, by the node's clock: nothing fits")
    if seen.restarts:
        notes.append(f"the engine was started {seen.restarts + 1} times: what came before the last is unattributed")
    if engine and engine.clock != "runtime":
        notes.append("the engine's log has no times of the container runtime: its phases are left out")
    pieces = sorted(_pieces(seen, engine, moved, restores=restores, primes=primes), key=lambda it: (it.begin, it.end))
    phases = dict(_cut(pieces, seen.created, total, notes))
    known = sum(span.seconds for span in phases.values())
    return Folded(
        phases=phases, total=round(total, 3), unattributed=round(max(total - known, 0.0), 3), notes=tuple(notes)
    )


def is_new(seen: Seen) -> bool:
    """Whether the node came for this pod: it registered after the pod was made. In the same second none can boot."""
    return seen.node.created > seen.created


def _ahead(seen: Seen) -> tuple[float, str]:
    """Return by how much the node's times are moved to be the API server's, and what there is to say of it."""
    ahead, earliest = seen.node.ahead, min((it.started for it in seen.containers.values()), default=seen.created)
    if ahead is not None and abs(ahead) > APART:
        how = "ahead of" if ahead > 0 else "behind"
        return ahead, f"the clock of {seen.node.name} is {abs(ahead):.1f} s {how} the API server's: its times are moved"
    if earliest < seen.created - ROUNDING:
        behind = seen.created - earliest
        return 0.0, (
            f"a container started {behind:.1f} s before its pod was made: the clock of {seen.node.name} is behind the"
            " API server's by that or more, and phases are cut"
        )
    return 0.0, ""


def _pieces(seen: Seen, engine: EngineStart | None, moved: float, *, restores: bool, primes: bool) -> Iterator[_Piece]:
    placed = seen.created
    if is_new(seen) and seen.node.ready is not None:
        placed = max(placed, seen.node.ready - moved)
        yield _Piece("node", seen.created, placed)
    # with microseconds, beside times that are the middle of their second: it seems earlier by half a one at most
    scheduled = placed if placed - ROUNDING < seen.scheduled < placed else seen.scheduled

    def on_node(time: float) -> float:
        moment = time - moved
        # nothing is done for a pod before it is bound: that it seems so by less than a second is what was cut off
        return scheduled if scheduled - ROUNDING < moment < scheduled else moment

    yield _Piece("scheduling", placed, scheduled)
    starts = [on_node(it.started) for it in seen.containers.values()]
    if seen.pull.how == "pulled":
        yield _Piece("image pull", on_node(seen.pull.begin), on_node(seen.pull.end))
        starts.append(on_node(seen.pull.begin))
    if starts:
        # volumes and network come before the first image is asked for
        yield _Piece("container start", scheduled, max(min(starts), scheduled))
    restore = seen.containers.get(PREPARER)
    if restores and restore and restore.finished is not None:
        yield _Piece("restore", on_node(restore.started), on_node(restore.finished))
    if engine and engine.clock == "runtime":
        spans = {phase: (engine.first + it.begin, engine.first + it.end) for phase, it in engine.spans.items()}
        started = seen.containers.get(CONTAINER)
        # Python imports before it logs: the container's start is where it began, and its end where the next one begins
        imported = spans.get("imports") or spans.get("model inspection")
        if started and imported:
            spans["imports"] = (started.started, spans["imports"][1] if "imports" in spans else imported[0])
        for phase, (begin, end) in spans.items():
            yield _Piece(phase, on_node(begin), on_node(end))
        if engine.serving is not None:
            # the first wake after it serves is the agent's, before it lets anybody in
            woken = next((end for end, _ in engine.wakes if end >= engine.serving), engine.serving)
            if primes:
                yield _Piece("priming", on_node(engine.serving), on_node(woken))
            yield _Piece("readiness", on_node(woken if primes else engine.serving), on_node(seen.ready))


def _cut(pieces: Sequence[_Piece], zero: float, total: float, notes: list[str]) -> Iterator[tuple[Phase, Span]]:
    """Yield each piece in seconds since `zero`, without what an earlier one has and what lies outside the start."""
    done, last = 0.0, ""
    for piece in pieces:
        begin, end = piece.begin - zero, piece.end - zero
        if begin < done - ROUNDING:
            notes.append(f"{piece.phase} begins {done - begin:.1f} s before {last or 'the pod was made'}: cut")
        if end > total + ROUNDING:
            notes.append(f"{piece.phase} ends {end - total:.1f} s after readiness: cut")
        begin = min(max(begin, done), total)
        end = min(max(end, begin), total)
        yield piece.phase, Span(begin=round(begin, 3), end=round(end, 3))
        done, last = end, f"{piece.phase} ends"
