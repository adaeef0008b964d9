"""How long a server takes to come back: as the budget predicts it, or as it was measured."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from infra.instances import InstanceType
from ops.coldstart.record import Record
from serving.budget.predict import in_force, predicted
from serving.budget.timeline import STARTS, Start, total
from serving.server import ServerSettings, situation
from serving.techniques.node import WARM_NODES
from settings import Settings


@dataclass(frozen=True)
class Return:
    """One way back."""

    seconds: float
    source: str
    """`predicted`, or how it was measured."""


@dataclass(frozen=True, kw_only=True)
class Wanted:
    """The server whose starts count, as a record spells it."""

    server: str
    engine_version: str
    instance_type: str
    techniques: frozenset[str]
    """All that act on it, its pool's too."""


def wanted(settings: Settings, server: str, kind: InstanceType, region: str) -> Wanted:
    """Return whose measured starts are this server's."""
    its = settings.servers[server]
    about = situation(its, settings.pools[its.pool], region)
    return Wanted(
        server=server,
        engine_version=its.engine.version,
        instance_type=kind.name,
        techniques=frozenset(in_force(about, its.chosen)),
    )


def foreseen(settings: Settings, server: str, kind: InstanceType, region: str) -> dict[Start, Return]:
    """Return every return that the server can have, as it is predicted."""
    its: ServerSettings = settings.servers[server]
    about = situation(its, settings.pools[its.pool], region)
    names = in_force(about, its.chosen)
    timelines = {start: predicted(about, names, start, kind) for start in STARTS}
    if WARM_NODES.name in names:
        # the node that waits is held by a pause pod, which has to go first: the budget has that in a fresh start
        timelines["warm node"] = timelines["fresh node"]
    return {start: Return(total(timeline), "predicted") for start, timeline in timelines.items() if timeline}


def unfit(record: Record, who: Wanted) -> str:
    """Return why a record says nothing of this server's returns; empty when it does."""
    subject = record.subject
    if record.role == "load":
        # article 000, 2.1: a run that fills a cache is expected to gain nothing
        return "fills a cache"
    if record.source == "logs":
        return "of a log: without the node's part"
    if subject.server not in {None, who.server}:
        return "of another server"
    if subject.engine_version != who.engine_version:
        return "of another engine"
    if subject.instance_type not in {None, who.instance_type}:
        return "of another instance type"
    if subject.techniques and frozenset(subject.techniques) != who.techniques:
        return "with other techniques"
    return ""


def measured(records: Iterable[Record], whose: Sequence[Wanted]) -> tuple[dict[Start, Return], Mapping[str, int]]:
    """Return the median of each kind of return, and how many records say nothing of it, by why.

    Args:
        records: of measured starts, of anything.
        whose: the server; in each of the ways that it may be set up.
    """
    seen: dict[Start, list[float]] = {}
    passed_over: Counter[str] = Counter()
    for record in records:
        reasons = [unfit(record, who) for who in whose]
        if "" in reasons:
            seen.setdefault(record.start, []).append(record.total)
        else:
            passed_over[min(reasons)] += 1
    return {start: Return(median(each), _described(each)) for start, each in seen.items()}, passed_over


def _described(each: Sequence[float]) -> str:
    if len(each) == 1:
        return "measured, 1 run"
    return f"measured, median of {len(each)} runs, {min(each):.1f} to {max(each):.1f} s"
