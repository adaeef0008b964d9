"""What a change means for each server, put together: cache, pods, and how long nothing serves."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from ops.impact.drift import Drift
from ops.impact.revision.side import Side, section
from ops.impact.servers.cache import Cache, Misses, cache
from ops.impact.servers.pods import Pods, deployment, pods, pool, replicas, techniques
from ops.impact.servers.predicted import Starts, starts
from serving.budget.timeline import Start
from serving.server.demand import build_path
from serving.techniques.cache_restore import CACHE_RESTORE

State = Literal["new", "removed", "both"]
When = Literal["rollout", "drift"]


@dataclass(frozen=True, kw_only=True)
class Interruption:
    """A time in which no pod of the server serves."""

    when: When
    """`rollout`: with `up`. `drift`: whenever Karpenter replaces the node."""
    start: Start
    seconds: float | None
    """None: cannot be told."""
    predicted: float | None
    """How many of them are the predicted start."""
    ending: float
    """How many of them are the old pod's end, at most, which the new one waits for.
    The rest is what the start does not find in its cache."""


@dataclass(frozen=True, kw_only=True)
class Server:
    """Of the stack file of one revision or both."""

    name: str
    state: State
    pool: str
    cache: Cache | None
    """None: only one revision has the server."""
    pods: Pods | None
    """None likewise."""
    interruptions: tuple[Interruption, ...]
    evicted: bool
    """Its pods stay as they are and go with their nodes, which are replaced."""
    before: Starts | None
    after: Starts | None
    restores: bool
    """It fetches its cache from the bucket."""
    weights: str
    """Where its model lies, when no server of the other revision has that model: it may still be to be onboarded."""
    no_room: str
    """Why no GPU is left for the Job that builds its cache, in the program's words; empty when one is."""

    @property
    def untouched(self) -> bool:
        """Whether it keeps its cache and its pods, as many as before, and is expected to start as fast as before."""
        if not self.cache or not self.pods or self.cache.outcome != "stays" or self.evicted:
            return False
        was, now = self.pods.replicas
        return was == now and not self.pods.restart and not self.interruptions and self.before == self.after


def servers(before: Side, after: Side, drifting: tuple[Drift, ...], misses: Mapping[str, Misses]) -> tuple[Server, ...]:
    """Return all servers: those of the proposed revision by name, then those that it removes.

    Args:
        before: a revision.
        after: the proposed one.
        drifting: pools whose nodes are replaced.
        misses: by server, where this checkout can tell.
    """
    removed = sorted(before.plan.servers.keys() - after.plan.servers.keys())
    names = [*sorted(after.plan.servers), *removed]
    return tuple(_server(name, before, after, {it.pool: it for it in drifting}, misses.get(name)) for name in names)


def _server(name: str, before: Side, after: Side, drifting: Mapping[str, Drift], misses: Misses | None) -> Server:
    was, now = deployment(before.plan, name), deployment(after.plan, name)
    old, new = before.plan.servers.get(name), after.plan.servers.get(name)
    predicted = starts(new)
    models = {_model(before, it) for it in before.plan.servers}
    standing = now or was
    its_cache = its_pods = None
    interruptions: tuple[Interruption, ...] = ()
    evicted = False
    if old is not None and new is not None and was is not None and now is not None:
        gone = frozenset(it.pool for it in drifting.values() if it.gone)
        its_cache = cache(name, (techniques(was), techniques(now)), before, after, misses)
        its_pods = pods(was, now, after.plan, gone)
        drift = drifting.get(pool(now))
        interruptions = tuple(_interruptions(its_pods, its_cache, drift, predicted, replicas(was)))
        evicted = drift is not None and not drift.stays and not its_pods.restart
    return Server(
        name=name,
        state="new" if old is None else "removed" if new is None else "both",
        pool=pool(standing) if standing else "",
        cache=its_cache,
        pods=its_pods,
        interruptions=interruptions,
        evicted=evicted,
        before=starts(old),
        after=predicted,
        restores=now is not None and CACHE_RESTORE.name in techniques(now),
        weights="" if new is None or (model := _model(after, name)) in models else model,
        no_room=_no_room(name, after),
    )


def _model(side: Side, server: str) -> str:
    return str(section(side, "servers", server, "model").get("uri", ""))


def _no_room(server: str, side: Side) -> str:
    path = f"{build_path(server)}: "
    return next((it.removeprefix(path) for it in side.plan.warnings if it.startswith(path)), "")


def _interruptions(
    its: Pods, of_cache: Cache, drift: Drift | None, predicted: Starts | None, standing: int
) -> Iterator[Interruption]:
    """Yield when nothing serves. One pod of several goes at a time with its node, so the others serve.

    A rollout waits for the end of the old pods (`Recreate`). Of a pod that goes with its node the next is made at once.
    """
    if its.restart and standing and (its.rollout == "recreate" or its.replaced):
        yield _interruption("rollout", its.start, of_cache, predicted, fetches=its.fetches, ending=its.ending)
    if drift and its.replicas[1] == 1:
        if drift.gone and not its.restart:
            yield _interruption("rollout", "fresh node", of_cache, predicted)
        elif not drift.gone and not drift.stays:
            yield _interruption("drift", "fresh node", of_cache, predicted)


def _interruption(
    when: When,
    start: Start,
    of_cache: Cache,
    predicted: Starts | None,
    *,
    fetches: bool = False,
    ending: float = 0.0,
) -> Interruption:
    seconds = _predicted(predicted, start, fetches=fetches) if predicted else None
    longer = None if of_cache.longer is None else max(0.0, of_cache.longer.get(start, 0.0))
    whole = None if seconds is None or longer is None else round(ending + seconds + longer, 1)
    return Interruption(when=when, start=start, seconds=whole, predicted=seconds, ending=ending)


def _predicted(starts: Starts, start: Start, *, fetches: bool) -> float | None:
    found = starts.seconds.get(start)
    if found is None or start != "restart" or not fetches:
        return found
    # the weights come as on a node that has never had them
    here, anew = (starts.phases.get(it, {}).get("weights", 0.0) for it in ("restart", "warm node"))
    return round(found - here + anew, 1)
