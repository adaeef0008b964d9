"""A measurement from its first look to its last record."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial

from ops.cluster.api import Body, Cluster
from ops.coldstart.log import EngineStart, read
from ops.coldstart.measure.announce import SITUATIONS, announcement
from ops.coldstart.measure.provoke import NODES, Plan, Say
from ops.coldstart.measure.provoke.fresh_node import FreshNode
from ops.coldstart.measure.provoke.restart import Restart
from ops.coldstart.measure.provoke.wake import Wake
from ops.coldstart.measure.provoke.warm_node import WarmNode
from ops.coldstart.measure.put_back import PutBack
from ops.coldstart.measure.reach import Reach
from ops.coldstart.measure.seen.fold import folded
from ops.coldstart.measure.target import Target, found, refuse_before_the_clock, refuse_traffic
from ops.coldstart.measure.watch import watched
from ops.coldstart.measure.written import happened, record, unlike
from ops.coldstart.record import Record, Span
from ops.failures import Failure, RefusedError, UnclearError
from ops.stack.stack_file import Stack

PLANS: dict[str, Callable[[Cluster, Target], Plan]] = {
    "restart": Restart.planned,
    "fresh-node": FreshNode.planned,
    "warm-node": WarmNode.planned,
}
"""Of the situations that make a pod."""


@dataclass(frozen=True, kw_only=True)
class Order:
    """What is to be measured."""

    stack: Stack
    server: str
    situation: str
    """One of `SITUATIONS`."""
    repeat: int
    despite_traffic: bool


@dataclass(frozen=True, kw_only=True)
class Told:
    """What will be done, for whoever is asked."""

    text: str
    will: Sequence[str]
    minutes: float
    """That one start is expected to take."""


def told(cluster: Cluster, order: Order, reach: Reach) -> Told:
    """Look whether it may be measured now, and return what there is to say first. Nothing is changed.

    Raises:
        UsageError, RefusedError, UnclearError: as `found` and the plans.
    """
    target, plan = _looked(cluster, order, reach)
    start = SITUATIONS[order.situation]
    instance = None if isinstance(plan, Wake) else plan.instance
    text, minutes = announcement(
        target, start, plan.will, repeat=order.repeat, overhead=plan.overhead, instance=instance
    )
    if start != "wake":
        refuse_before_the_clock(target, minutes, datetime.now(UTC))
    return Told(text=text, will=plan.will, minutes=minutes / order.repeat)


def measured(
    cluster: Cluster, order: Order, reach: Reach, agreed: Told, keep: Callable[[Record], None], say: Say
) -> None:
    """Measure as often as ordered.

    Args:
        cluster: the stack's.
        order: what.
        reach: ways to the pods.
        agreed: what somebody agreed to.
        keep: is handed each record as soon as there is one.
        say: shows what goes on.

    Raises:
        RefusedError, UnclearError: as `told`, or what was agreed to is no longer what would be done, or something
            was not put back. Nothing is provoked after that.
    """
    for number in range(1, order.repeat + 1):
        shown = partial(_numbered, say, f"{number} of {order.repeat}")
        shown("looking")
        target, plan = _looked(cluster, order, reach)
        if number == 1 and plan.will != agreed.will:
            raise RefusedError(
                f"servers.{target.server.name}: its pods or nodes have changed since you were asked: run it again"
            )
        back = PutBack()
        if isinstance(plan, Wake):
            keep(_wake(cluster, target, plan, reach, back, shown))
        else:
            # others may have taken longer than expected
            refuse_before_the_clock(target, agreed.minutes, datetime.now(UTC))
            keep(_start(cluster, target, order.situation, plan, reach, back, shown))
        if back.broken:
            raise UnclearError(f"servers.{order.server}: measured, and not put back: {'; '.join(back.broken)}")


def _numbered(say: Say, number: str, text: str) -> None:
    say(f"{number}: {text}")


def _looked(cluster: Cluster, order: Order, reach: Reach) -> tuple[Target, Plan | Wake]:
    target = found(cluster, order.stack, order.server)
    if not order.despite_traffic:
        refuse_traffic(target, reach.metrics)
    if order.situation == "wake":
        return target, Wake.planned(target, reach.agent)
    return target, PLANS[order.situation](cluster, target)


def _start(
    cluster: Cluster, target: Target, situation: str, plan: Plan, reach: Reach, back: PutBack, say: Say
) -> Record:
    with back:
        before = plan.provoke(back, say)
        it = watched(cluster, target, before, back, say)
    notes = list(it.notes)
    say("first request")
    token = _token(reach, it.seen.pod, notes)
    engine = _engine(target, it.log, notes)
    start = happened(it.seen, before)
    return record(
        target.server,
        start,
        it.seen,
        folded(it.seen, engine, restores=target.server.restores, primes=target.server.primes),
        engine,
        restore=it.restore,
        notes=[unlike(situation, start, it.seen, before), *notes],
        token=token,
    )


def _token(reach: Reach, pod: str, notes: list[str]) -> float | None:
    try:
        return reach.first_token(pod)
    except Failure as failure:
        notes.append(str(failure))
        return None


def _engine(target: Target, log: str, notes: list[str]) -> EngineStart | None:
    """Return what the engine's log says. A start that has cost a node is written down without it, too."""
    if not log:
        notes.append("the engine's log cannot be had: its phases are unattributed")
        return None
    try:
        return read(log.splitlines(), target.server.settings.engine.version)
    except UnclearError as unclear:
        notes.append(f"the engine's log: {unclear}: its phases are unattributed")
        return None


def _wake(cluster: Cluster, target: Target, plan: Wake, reach: Reach, back: PutBack, say: Say) -> Record:
    notes: list[str] = []
    with back:
        # looked for first: what was measured is not lost with it
        node: Body = cluster.find(f"{NODES}/{plan.pod['spec']['nodeName']}") or {"metadata": {}}
        woken = plan.measured(back, say)
        # before it is put to sleep again: past the proxy nobody wakes it for a request, which would wait
        token = _token(reach, plan.pod["metadata"]["name"], notes)
    return Record(
        began=woken.began,
        start="wake",
        # nothing is taken from a cache: all of it is in the host's memory
        role="none",
        source="cluster",
        subject=target.server.subject(node["metadata"].get("labels") or {}, None, None),
        phases={"wake": Span(begin=0.0, end=woken.wake)},
        total=woken.total,
        unattributed=round(woken.total - woken.wake, 3),
        first_token=None if token is None else round(woken.total + token, 3),
        compile="none",
        notes=notes,
    )
