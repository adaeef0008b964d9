"""Two revisions, compared: everything that the report, the JSON document and the limits are made of."""

from collections.abc import Mapping
from dataclasses import dataclass

from ops.impact.cost import Cost, cost
from ops.impact.drift import Drift, SystemNodes, drifts, system_nodes
from ops.impact.resources import Resources, resources
from ops.impact.revision.side import Side
from ops.impact.servers.cache import Misses, beginning, prefix
from ops.impact.servers.pods import deployment, techniques
from ops.impact.servers.verdict import Server, servers


@dataclass(frozen=True, kw_only=True)
class Impact:
    """What a change does to a stack."""

    stack: str
    before: str
    """Title of the revision that is compared with."""
    after: str
    servers: tuple[Server, ...]
    drifts: tuple[Drift, ...]
    system_nodes: tuple[SystemNodes, ...]
    resources: Resources
    cost: Cost
    warnings: tuple[str, ...]
    """What the program says of the proposed stack, and did not say before."""

    @property
    def nothing(self) -> bool:
        """Whether `up` would do nothing at all."""
        return not (self.resources.counts.keys() - {"same"})


def compare(stack: str, before: Side, after: Side, misses: Mapping[str, Misses]) -> Impact:
    """Return what changes from one side to the other.

    Args:
        stack: its name.
        before: the revision that stands: the plan of an `up`.
        after: the proposed one: the plan of a preview over what the other one's `up` left.
        misses: what a start without its cache costs, by server, where this checkout can tell.
    """
    drifting = drifts(before, after)
    return Impact(
        stack=stack,
        before=before.title,
        after=after.title,
        servers=servers(before, after, drifting, misses),
        drifts=drifting,
        system_nodes=system_nodes(before, after),
        resources=resources(after.plan),
        cost=cost(before, after),
        warnings=tuple(dict.fromkeys(it for it in after.plan.warnings if it not in before.plan.warnings)),
    )


def moving(before: Side, after: Side) -> list[str]:
    """Return the servers of both whose cache key may be another one, by what their outputs tell."""
    pairs = {
        name: (prefix(of), prefix(after.plan.servers[name]))
        for name, of in before.plan.servers.items()
        if name in after.plan.servers
    }
    return sorted(name for name, (was, now) in pairs.items() if was != now or was is None)


def unfilled(before: Side, after: Side) -> list[str]:
    """Return the servers of both that begin to keep or to restore a cache."""
    pairs = {name: (deployment(before.plan, name), deployment(after.plan, name)) for name in after.plan.servers}
    return sorted(
        name for name, (was, now) in pairs.items() if was and now and beginning((techniques(was), techniques(now)))
    )
