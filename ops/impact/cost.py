"""What a change costs by the hour, as far as the program knows prices: on-demand list prices of GPU types."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from infra.instances import catalogue, on_demand_price
from ops.impact.drift import GROUP_TYPE, POOL_TYPE, types
from ops.impact.plan import Plan
from ops.impact.revision.side import Side, section
from ops.impact.servers.pods import deployment, gpus, pool, replicas

_RANGE = re.compile(r"([0-9.]+)(?:-([0-9.]+))?")
"""Of the output `standingUsdPerHour`."""

_PAID_ANYWAY = frozenset({"static", "reserved"})
"""Capacities whose nodes cost whether servers run there or not."""


_Prices = Mapping[str, Mapping[str, object]]
"""By pool and type: what the stack files say."""


@dataclass(frozen=True, kw_only=True)
class Item:
    """One thing that costs by the hour."""

    what: str
    before: str
    """How much of it there is."""
    after: str
    usd: tuple[float | None, float | None]
    """Before and after, at most. None: nobody knows the price."""

    @property
    def changes(self) -> bool:
        """Whether there is another amount of it, or it may be had of dearer types: a price learned is no change."""
        was, now = self.usd
        return self.before != self.after or (was is not None and now is not None and was != now)

    @property
    def delta(self) -> float | None:
        """USD an hour more; None when it changes and no price is known."""
        if not self.changes:
            return 0.0
        was, now = self.usd
        return None if was is None or now is None else round(now - was, 4)


@dataclass(frozen=True, kw_only=True)
class Cost:
    """Of the whole stack."""

    standing: tuple[Item, ...]
    """What runs all the time."""
    ceiling: tuple[Item, ...]
    """What each pool's limit allows."""

    @property
    def delta(self) -> float | None:
        """USD an hour more that run all the time; None when it cannot be told."""
        known = [it.delta for it in self.standing]
        return None if None in known else round(sum(it for it in known if it is not None), 4)


def cost(before: Side, after: Side) -> Cost:
    """Return what costs by the hour, before and after, both at the prices that are known after."""
    names = {**before.plan.pools, **after.plan.pools}
    prices = {name: {**_prices(before, name), **_prices(after, name)} for name in names}
    standing, ceiling = ([dict(of(side, prices)) for side in (before, after)] for of in (_standing, _ceiling))
    return Cost(standing=_items(*standing), ceiling=_items(*ceiling))


def _items(
    before: Mapping[str, tuple[str, float | None]], after: Mapping[str, tuple[str, float | None]]
) -> tuple[Item, ...]:
    none = ("none", 0.0)
    pairs = [(what, before.get(what, none), after.get(what, none)) for what in {**before, **after}]
    return tuple(Item(what=what, before=was[0], after=now[0], usd=(was[1], now[1])) for what, was, now in pairs)


def _prices(side: Side, pool_name: str) -> Mapping[str, object]:
    return section(side, "gpuPools", pool_name, "prices")


def _standing(side: Side, prices: _Prices) -> Iterator[tuple[str, tuple[str, float | None]]]:
    """Yield what there is of each thing, and its price an hour."""
    plan = side.plan
    for name, its in plan.pools.items():
        told = str(its.get("standingUsdPerHour", "unknown"))
        found = _RANGE.fullmatch(told)
        yield (
            f"warm or static nodes of pool {name}",
            (f"USD {told}" if found else told, float(found[2] or found[1]) if found else None),
        )
    for name in plan.servers:
        stands = deployment(plan, name)
        if stands is None or str(plan.pools.get(pool(stands), {}).get("capacity")) in _PAID_ANYWAY:
            continue
        count = replicas(stands) * gpus(stands)
        each = _gpu_price(side.plan, pool(stands), prices)
        yield f"server {name}", (f"{count} GPU", None if each is None else round(count * each, 4))
    endpoints = [it.inputs for it in plan.of("aws:ec2/vpcEndpoint:VpcEndpoint")]
    zones = [it.get("subnetIds") or [] for it in endpoints if it.get("vpcEndpointType") == "Interface"]
    for what, count in (
        ("NAT gateways", len(list(plan.of("aws:ec2/natGateway:NatGateway")))),
        ("interface endpoints (each zone counts)", sum(map(len, zones))),
    ):
        yield what, (str(count), None if count else 0.0)
    for group in plan.of(GROUP_TYPE):
        size = (group.inputs.get("scalingConfig") or {}).get("desiredSize")
        yield f"system nodes {group.name}", (f"{size} {'/'.join(group.inputs.get('instanceTypes') or ())}", None)


def _ceiling(side: Side, prices: _Prices) -> Iterator[tuple[str, tuple[str, float | None]]]:
    for name, its in side.plan.pools.items():
        most, each = int(its.get("maxGpus", 0)), _gpu_price(side.plan, name, prices)
        yield f"pool {name}", (f"{most} GPU", None if each is None else round(most * each, 4))


def _gpu_price(plan: Plan, name: str, prices: _Prices) -> float | None:
    """Return what an hour of one GPU of a pool costs at most: on the type where it is dearest."""
    region = str(plan.outputs.get("region", ""))
    found = [_price(kind, region, prices.get(name, {})) for kind in _types(plan, name)]
    return None if None in found else max((it for it in found if it is not None), default=None)


def _price(kind: str, region: str, own: Mapping[str, object]) -> float | None:
    known = catalogue().get(kind)
    listed = on_demand_price(kind, region)
    usd = float(str(own[kind])) if kind in own else listed.usd if listed else None
    return None if usd is None or known is None or not known.gpus else usd / known.gpus


def _types(plan: Plan, name: str) -> tuple[str, ...]:
    found = plan.objects(POOL_TYPE)
    # a static pool's object has its name and a word more
    its = found.get(name) or next((it for key, it in found.items() if key.partition(".")[0] == name), None)
    return types(its) if its else ()
