"""How many vCPUs of each quota a stack file can take at most. Pure arithmetic over its settings."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from infra.cluster.system_nodes import SystemNodeSettings
from infra.gpu_pools import GpuPool
from infra.instances import InstanceType

Market = Literal["on-demand", "spot"]


@dataclass(frozen=True, kw_only=True)
class Quota:
    """One quota of EC2. Its unit is the vCPU, whatever it calls itself, and each region has its own."""

    code: str
    name: str
    market: Market
    families: frozenset[str]
    """The letters that its instance types begin with; of P on Spot with the generation."""


_G, _P = frozenset({"g", "gr", "vt"}), frozenset({"p"})
_STANDARD = frozenset({"a", "c", "d", "h", "i", "im", "is", "m", "r", "t", "z"})

QUOTAS = (
    Quota(code="L-DB2E81BA", name="Running On-Demand G and VT instances", market="on-demand", families=_G),
    Quota(code="L-3819A6DF", name="All G and VT Spot Instance Requests", market="spot", families=_G),
    Quota(code="L-417A185B", name="Running On-Demand P instances", market="on-demand", families=_P),
    Quota(
        code="L-7212CCBC",
        name="All P4, P3 and P2 Spot Instance Requests",
        market="spot",
        families=frozenset({"p2", "p3", "p4"}),
    ),
    Quota(code="L-C4BD4855", name="All P5 Spot Instance Requests", market="spot", families=frozenset({"p5"})),
    Quota(
        code="L-1216C47A",
        name="Running On-Demand Standard (A, C, D, H, I, M, R, T, Z) instances",
        market="on-demand",
        families=_STANDARD,
    ),
    Quota(
        code="L-34B43A08",
        name="All Standard (A, C, D, H, I, M, R, T, Z) Spot Instance Requests",
        market="spot",
        families=_STANDARD,
    ),
)
"""Codes and names: as several public code bases have them (facts/aws.md 5), those of P on Spot as listings of accounts'
quotas have them. Which one P6 counts in on Spot nobody says in the same way twice, so it counts in none."""

UPDATED_AT_ONCE = 2
"""System nodes that EKS starts in each zone beside the old ones while it updates the group (EKS user guide, managed
node update behavior: the group grows by up to twice its zones)."""


def quota_of(type_name: str, market: Market) -> Quota | None:
    """Return the quota that an instance type counts in, or None where no quota is known: `hpc`, `u-`, `x`."""
    # of P on Spot the generation counts as well
    letters = re.match(r"p[0-9]+|[a-z]+" if market == "spot" else r"[a-z]+", type_name)
    return next((it for it in QUOTAS if letters and letters[0] in it.families and it.market == market), None)


@dataclass(frozen=True, kw_only=True)
class Part:
    """What one pool, or the system nodes, take of a quota."""

    who: str
    vcpus: int
    kind: Literal["need", "fall-back", "beside"]

    def __str__(self) -> str:
        """Return its product, and when it is taken."""
        return (
            self.who
            + {"need": "", "fall-back": " when Spot has none", "beside": " while nodes are replaced"}[self.kind]
        )


def largest(types: Sequence[InstanceType], gpus: int) -> Mapping[InstanceType, int]:
    """Return the nodes, by type, that have the most vCPUs of all that a limit of GPUs lets Karpenter start.

    Karpenter takes what is cheapest or there, so the worst mix counts: two g7e.4xlarge (16 vCPUs a GPU) where two
    g7e.2xlarge (8) would do.
    """
    best: list[tuple[int, Mapping[InstanceType, int]]] = [(0, {})]
    for limit in range(1, gpus + 1):
        options = [best[limit - 1]]
        for kind in types:
            if kind.gpus <= limit:
                vcpus, nodes = best[limit - kind.gpus]
                options.append((vcpus + kind.vcpus, {**nodes, kind: nodes.get(kind, 0) + 1}))
        best.append(max(options, key=lambda option: option[0]))
    return best[gpus][1]


def pool_parts(name: str, pool: GpuPool) -> Iterator[tuple[Quota | None, Part]]:
    """Yield what a pool takes of which quota; None: no quota is known for its types.

    Counted is what may run at once, not what servers ask for today:

    - within `maxGpus`, which Karpenter keeps for everything on the pool: replicas, pods of a surge, warm nodes, cache
      builds. They are in the limit (the stack file is refused where they do not fit), so they are not counted again.
      Of a static pool the number of its nodes.
    - beyond it, one node: in its update window a changed node is replaced by one that starts beside it, and what is
      marked for deletion no longer counts in the limit (karpenter v1.14.1, pkg/controllers/state/cluster.go, where the
      resources of such a node are none). The budget lets one go at a time. Nodes whose Spot capacity ends are replaced
      in the same way, several at once perhaps; nobody can plan for that.
    - Spot-first takes all of it in either market: Spot first, on-demand when Spot has none.
    - Reservations hold their vCPUs in the quota whether nodes use them or not: nothing more.
    """
    if pool.capacity.reserved:
        return
    static = pool.capacity.static
    roomiest = max(pool.types, key=lambda kind: kind.vcpus)
    nodes = {roomiest: static.nodes} if static else largest(pool.types, pool.max_gpus)
    spot_first = "spot" in pool.capacity.markets
    markets: tuple[Market, ...] = ("spot", "on-demand") if spot_first else ("on-demand",)
    for market in markets:
        kind_of_need: Literal["need", "fall-back"] = "fall-back" if spot_first and market == "on-demand" else "need"
        for kind, count in nodes.items():
            who = f"{name} {count} x {kind.name} x {kind.vcpus}"
            yield quota_of(kind.name, market), Part(who=who, vcpus=count * kind.vcpus, kind=kind_of_need)
        if not pool.update_window.never:
            who = f"{name} 1 x {roomiest.name} x {roomiest.vcpus}"
            yield quota_of(roomiest.name, market), Part(who=who, vcpus=roomiest.vcpus, kind="beside")


def system_parts(
    system: SystemNodeSettings, zones: int, vcpus: Mapping[str, int]
) -> Iterator[tuple[Quota | None, Part]]:
    """Yield what the nodes take that Karpenter does not manage, of the largest type that their group may start.

    Args:
        system: `cluster.systemNodes`.
        zones: that the group spans.
        vcpus: of each of its types.
    """
    kind = max(system.instance_types, key=lambda name: vcpus[name])
    quota, each = quota_of(kind, "on-demand"), vcpus[kind]
    yield quota, Part(who=f"system {system.count} x {kind} x {each}", vcpus=system.count * each, kind="need")
    more = UPDATED_AT_ONCE * zones
    yield quota, Part(who=f"system {more} x {kind} x {each}", vcpus=more * each, kind="beside")
