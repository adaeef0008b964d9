"""The seconds of a start before it happens: the baseline, with what each technique does to it."""

from collections.abc import Iterator, Mapping, Sequence

from infra.instances import InstanceType
from serving.budget import Problem
from serving.budget.baseline import as_known, baseline
from serving.budget.timeline import PHASES, POD_STARTS, STARTS, Evidence, Phase, Seconds, Start, Timeline, total, weaker
from serving.engine import START_LIMIT
from serving.pod import Situation
from serving.techniques import TECHNIQUES
from serving.techniques.node import WARM_NODES
from serving.techniques.technique import Effect, Technique

NOTHING = Seconds(0.0, "measured", "does not happen")

_ENGINES_OWN = PHASES[PHASES.index("imports") : PHASES.index("API start") + 1]
"""What passes between the start of the engine's container and its serving."""


def in_force(situation: Situation, techniques: Sequence[str]) -> tuple[str, ...]:
    """Return the names of all techniques that act on a server: its own and its pool's.

    Args:
        situation: the server.
        techniques: its own.
    """
    pool = situation.pool
    warm = (WARM_NODES.name,) if pool.warm_nodes or pool.capacity.static else ()
    return (*techniques, *pool.techniques, *warm)


def predicted(
    situation: Situation,
    names: Sequence[str],
    start: Start,
    kind: InstanceType,
    table: Mapping[str, Technique] = TECHNIQUES,
) -> Timeline:
    """Return the phases of a start, in their order, with the named techniques.

    Args:
        situation: the server.
        names: all techniques that act on it (`in_force`), in any order. A name that is not in the table does nothing.
        start: what is there already.
        kind: the instance type.
        table: all techniques, in the order in which they act.
    """
    phases, _ = _course(situation, names, start, kind, table)
    return {phase: phases[phase] for phase in PHASES if phase in phases and phases[phase].value > 0}


def causes(
    situation: Situation, names: Sequence[str], kind: InstanceType, table: Mapping[str, Technique] = TECHNIQUES
) -> dict[Phase, tuple[str, ...]]:
    """Return, by phase, the techniques that change its seconds on any start. The parameters are `predicted`'s."""
    changed = {it for start in STARTS for it in _course(situation, names, start, kind, table)[1]}
    by = {phase: tuple(name for name in table if (phase, name) in changed) for phase in PHASES}
    return {phase: whose for phase, whose in by.items() if whose}


def _course(
    situation: Situation, names: Sequence[str], start: Start, kind: InstanceType, table: Mapping[str, Technique]
) -> tuple[dict[Phase, Seconds], set[tuple[Phase, str]]]:
    """Return the seconds after all techniques, and which phase each of them has changed."""
    phases, changed = dict(baseline(situation, start, kind)), set()
    for technique in table.values():
        if technique.name in names:
            for effect in technique.effects:
                if start in effect.starts and all(other in names for other in effect.beside):
                    before = phases.get(effect.phase, NOTHING)
                    phases[effect.phase] = _changed(before, effect, situation, kind)
                    if phases[effect.phase].value != before.value:
                        changed.add((effect.phase, technique.name))
    return phases, changed


def _changed(before: Seconds, effect: Effect, situation: Situation, kind: InstanceType) -> Seconds:
    value = effect.seconds(before.value, situation, kind)
    if value == before.value:
        return before
    seen: Evidence = effect.evidence if effect.as_seen(situation) else "estimated"
    after = as_known(effect.phase, Seconds(value, seen, effect.source), situation, kind)
    # what is made of the seconds before is no better known than they are
    independent = effect.seconds(before.value + 1, situation, kind) == value
    evidence = after.evidence if independent else weaker(before.evidence, after.evidence)
    return Seconds(value, evidence, effect.source)


def predictions(
    situation: Situation, names: Sequence[str], table: Mapping[str, Technique] = TECHNIQUES
) -> dict[str, dict[Start, Timeline]]:
    """Return every start on every instance type of the pool, by the type's name, in the pool's order."""
    return {
        kind.name: {start: predicted(situation, names, start, kind, table) for start in STARTS}
        for kind in situation.pool.types
    }


def warnings(situation: Situation, names: Sequence[str]) -> Iterator[Problem]:
    """Yield that an engine is expected to take longer than it may, on the pool's slowest type.

    No refusal: the longest start that was measured took 428 s, so whatever is beyond the limit is scaled up from a
    smaller checkpoint and from another type's network and vCPUs. The startup probe waits STARTUP_SLACK longer still.

    Args:
        situation: the server.
        names: all techniques that act on it (`in_force`).
    """
    starts = [
        (kind, {phase: timeline[phase] for phase in _ENGINES_OWN if phase in timeline})
        for kind, each in predictions(situation, names).items()
        for timeline in (each[start] for start in POD_STARTS)
    ]
    kind, slowest = max(starts, key=lambda it: total(it[1]))
    if (seconds := total(slowest)) > START_LIMIT:
        phases = " + ".join(f"{phase} {it.value:.1f} s" for phase, it in slowest.items())
        yield (
            ("techniques",),
            f"{phases} = {seconds:.1f} s on {kind}, estimated, > {START_LIMIT} s that an engine may take from the start"
            " of its container to serving: it may be ended before",
        )
