"""What a change does to a server's start-up cache."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from pydantic import JsonValue

from ops.impact.leaves import Change
from ops.impact.revision.side import Key, Side, section
from ops.stack.keys import asked_for
from ops.stack.stack_file import Stack
from serving.budget.predict import in_force, predictions
from serving.budget.timeline import POD_STARTS, Start, total
from serving.cache_key import difference
from serving.techniques import TECHNIQUES
from serving.techniques.cache_restore import CACHE_RESTORE
from serving.techniques.node_cache import NODE_CACHE

Outcome = Literal["stays", "to be built", "moves", "built as candidate", "none", "given up"]
"""`built as candidate`: the key moves to that of the other revision's candidate, whose cache can be there already.
`to be built`: the key stays, and the server begins to keep its cache, or to restore it, so that nobody has built one.
`none`: the server keeps no cache, so every start compiles, before and after. `given up`: it kept one before."""

_CANDIDATE = ("version", "image", "args")
"""Keys of `engine` that a candidate can have."""

_NEVER_A_CANDIDATES = ("gpu.", "model.", "engine.user")
"""What facts begin with that no candidate can hold."""


@dataclass(frozen=True, kw_only=True)
class Misses:
    """Seconds that a start takes longer than predicted, by what it finds of its cache."""

    compile: Mapping[Start, float]
    """The base archive alone."""
    all: Mapping[Start, float]
    """Nothing."""


@dataclass(frozen=True, kw_only=True)
class Cache:
    """Of one server."""

    outcome: Outcome
    restores: bool
    """It fetches its cache from the bucket; else only the node keeps one."""
    base_stays: bool
    moved: Mapping[str, tuple[JsonValue, JsonValue]]
    """Facts before and after; None stands for absent."""
    buildable: bool
    """A candidate can hold what moves it, so that its cache can be built before."""
    longer: Mapping[Start, float] | None
    """Seconds that its starts take longer until a cache is built. None: cannot be told."""
    fingerprints: tuple[str, str] = ("", "")
    """Before and after; empty when the key stays."""

    def names(self, change: Change) -> bool:
        """Whether a change is nothing but the other fingerprint: arguments and paths of a pod have it."""
        was, now = self.fingerprints
        return bool(was) and str(change.before).replace(was, now) == str(change.after)

    @property
    def cold(self) -> bool:
        """Whether the next starts compile what the ones before did not have to."""
        return self.outcome in {"moves", "given up"}


def cache(
    server: str, techniques: tuple[frozenset[str], frozenset[str]], before: Side, after: Side, misses: Misses | None
) -> Cache:
    """Return what happens to a server's cache, which both revisions have.

    Args:
        server: its name.
        techniques: of the one and of the other.
        before: a revision, with the keys of all servers whose cache moves.
        after: the proposed one, likewise.
        misses: what a start without its cache costs; None when this checkout cannot read the stack file.
    """
    old, new = before.keys.get(server), after.keys.get(server)
    restored, restores = (CACHE_RESTORE.name in it for it in techniques)
    kept, keeps = (NODE_CACHE.name in it for it in techniques)
    if kept and not keeps:
        outcome: Outcome = "given up"
    elif old is None or new is None or old.exact == new.exact:
        outcome = "to be built" if beginning(techniques) else "stays"
    elif not keeps:
        outcome = "none"
    else:
        outcome = "built as candidate" if before.candidates.get(server) == new.exact else "moves"
    moved = difference(old.facts, new.facts) if old and new else {}
    # what restored nothing before has published nothing
    base_stays = restored and restores and (old is None or new is None or old.base == new.base)
    return Cache(
        outcome=outcome,
        restores=restores,
        base_stays=base_stays,
        moved=moved,
        buildable=restores and _buildable(server, moved, before, after),
        longer=_longer(outcome, base_stays=base_stays, on_the_node=kept, misses=misses),
        fingerprints=(_fingerprint(old), _fingerprint(new)) if moved and old and new else ("", ""),
    )


def _longer(
    outcome: Outcome, *, base_stays: bool, on_the_node: bool, misses: Misses | None
) -> Mapping[Start, float] | None:
    if outcome not in {"moves", "to be built"}:
        return {}
    if misses is None:
        return None
    if outcome == "moves":
        return misses.compile if base_stays else misses.all
    return {start: it for start, it in misses.all.items() if not (on_the_node and start == "restart")}


def beginning(techniques: tuple[frozenset[str], frozenset[str]]) -> bool:
    """Whether a server begins to keep its cache on the node, or to restore it."""
    was, now = ({NODE_CACHE.name, CACHE_RESTORE.name} & it for it in techniques)
    return not now <= was


def _fingerprint(of: Key) -> str:
    return of.exact.rstrip("/").rpartition("/")[2]


def prefix(output: Mapping[str, Any]) -> str | None:
    """Return a server's cache prefix as outputs tell it; None from a platform that tells none."""
    found = output.get("cachePrefix")
    return found if isinstance(found, str) else None


def misses(stack: Stack, server: str) -> Misses:
    """Return what it costs a server of this checkout to find less of its cache than predicted.

    Raises:
        UsageError: there is no such server.
    """
    settings = asked_for(stack, server, candidate=False)
    about = stack.situation(settings)
    names = in_force(about, settings.chosen)
    kept = {it.name for it in TECHNIQUES.values() if it is NODE_CACHE or NODE_CACHE.name in it.needs}
    found = predictions(about, names)
    without = predictions(about, [name for name in names if name not in kept])
    return Misses(
        compile={
            start: max(
                _phase(without[kind][start], "compile") - _phase(found[kind][start], "compile") for kind in found
            )
            for start in POD_STARTS
        },
        all={
            start: max(total(without[kind][start]) - total(found[kind][start]) for kind in found)
            for start in POD_STARTS
        },
    )


def _phase(timeline: Any, phase: str) -> float:
    return float(timeline[phase].value) if phase in timeline else 0.0


def _buildable(server: str, moved: Collection[str], before: Side, after: Side) -> bool:
    """Whether a candidate can hold what moves the key: another version, image or `args`, and what follows from them."""
    if any(name.startswith(_NEVER_A_CANDIDATES) for name in moved):
        return False
    settings = [section(side, "servers", server) for side in (before, after)]
    engines = [dict(it.get("engine") or {}) for it in settings]
    held = [{name: it.get(name) for name in _CANDIDATE} for it in engines]
    flags = {f"flag.{name}" for it in held for name in it["args"] or {}}
    rest = [name for name in moved if name not in flags and name not in {"engine.image", "engine.version"}]
    # another version has other flags and variables, made by the program: those of a changed setting look the same
    unheld = [
        {**{name: it[name] for name in it if name not in {"engine", "candidate"}}, **dict.fromkeys(_CANDIDATE)}
        | {name: engine[name] for name in engine if name not in _CANDIDATE}
        for it, engine in zip(settings, engines, strict=True)
    ]
    return held[0] != held[1] and (not rest or unheld[0] == unheld[1])
