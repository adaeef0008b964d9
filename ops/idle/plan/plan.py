"""`ops idle plan`: every policy for a server that is idle, what each costs, and the settings of each."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from infra.gpu_pools import GpuPool
from infra.instances import InstanceType, Price
from ops.coldstart.record import Record
from ops.failures import RefusedError, UsageError
from ops.idle.plan import change
from ops.idle.plan.change import Change
from ops.idle.plan.intervals import Intervals
from ops.idle.plan.penalty import Penalty
from ops.idle.plan.policies import (
    BreakEven,
    Outcome,
    Terms,
    always_on,
    asleep,
    best_keep,
    break_evens,
    node_kept,
    warm_node,
)
from ops.idle.plan.returns import Return, foreseen, measured, wanted
from ops.idle.plan.to_do import to_do
from ops.idle.prices import unknown
from ops.stack.stack_file import Stack
from ops.terminal import echo
from serving.budget import host_memory
from serving.budget.timeline import Start
from serving.server import situation
from settings import Settings

MINUTE = 60
MOST_USD = 1000
"""An hour, of one node: as `prices` of a pool takes them."""


@dataclass(frozen=True, kw_only=True)
class Row:
    """One policy."""

    policy: str
    outcome: Outcome | None
    """None: the stack file cannot have it."""
    change: Change
    wrong: Sequence[str]
    """Why it cannot; empty when it can."""
    doubts: Sequence[str] = ()
    """What it may run short of. `pulumi preview` says the same of the changed stack file."""
    to_do: str = ""
    """What makes it so, with the settings."""
    detail: str = ""
    """The settings that make it what it is, in short."""


@dataclass(frozen=True, kw_only=True)
class Plan:
    """All of it, for one server."""

    server: str
    kind: InstanceType
    nodes: int
    """That its pods take."""
    price: Price | None
    """Of one node; None: nobody knows it, and sums are of node-hours."""
    unpriced: str
    """What to do about that; empty where the price is known."""
    penalty: Penalty
    weighs: bool
    """Whether waiting can be weighed against nodes: not where it costs USD, and nobody knows what they do."""
    terms: Terms
    intervals: Intervals | None
    returns: Mapping[Start, Return]
    passed_over: Mapping[str, int]
    """Measured starts that say nothing of this server, by why."""
    rows: Sequence[Row]
    """Empty without intervals."""
    breaks: Sequence[BreakEven]
    """Empty where waiting cannot be weighed."""

    @property
    def best(self) -> Row | None:
        """The cheapest one that the stack file can have, and that runs short of nothing; None: cannot be told."""
        fit = [row for row in self.rows if row.outcome and not row.doubts]
        return min(fit, key=_usd, default=None) if self.weighs else None


def planned(
    stack: Stack,
    name: str,
    *,
    instance_type: str | None,
    intervals: Intervals | None,
    penalty: Penalty,
    records: Sequence[Record],
    spot_price: float | None,
) -> Plan:
    """Return the plan for a server, as if it were alone on its nodes.

    Args:
        stack: its stack file.
        name: of the server.
        instance_type: one of its pool's; None: the first.
        intervals: its idle times; None: only break-evens are told.
        penalty: what waiting costs.
        records: measured starts; what they do not have is predicted.
        spot_price: USD an hour in place of the on-demand price.

    Raises:
        UsageError: no such server or type, or a Spot price of a pool without Spot.
        RefusedError: its nodes cost the same whatever is done.
    """
    server = stack.server(name)
    pool = stack.settings.pools[server.pool]
    kind = _kind(pool, server.pool, instance_type)
    price = _price(server.pool, pool, kind, stack.region, spot_price)
    weighs = price is not None or not penalty.costs
    # a pod's GPUs are of one node
    nodes = -(-server.replicas // (kind.gpus // server.engine.tensor_parallel))
    # USD of waiting are no node-hours, so that they are left out of a sum of these
    terms = Terms(price=price.usd * nodes, penalty=penalty) if price else Terms(price=nodes, penalty=Penalty())
    least, most = change.bounds(stack, server.pool)
    changes: dict[str, Change] = {
        "always on": change.always_on(stack, name),
        "sleep": change.asleep(stack, name),
        "warm node": change.warm_node(stack, name, least, nodes),
        "scale to zero": change.node_kept(stack, name, least),
    }
    tries = {policy: change.tried(stack, its) for policy, its in changes.items()}
    returns, passed_over = _returns(stack, name, kind, tries, records)
    restart, fresh = returns["restart"].seconds, returns["fresh node"].seconds
    wake = returns["wake"].seconds if "wake" in returns else None
    rows: list[Row] = []
    if intervals:
        after = 0.0 if _wakes_from_outside(tries["sleep"], name) else float(server.sleep.idle_seconds)
        seconds = [minutes * MINUTE for minutes in change.candidates(intervals.seconds, least, most)]
        keep, kept = best_keep(intervals, terms, seconds, restart=restart, fresh=fresh)
        keep = int(keep // MINUTE)
        changes["node kept"] = change.node_kept(stack, name, keep)
        tries["node kept"] = change.tried(stack, changes["node kept"])
        outcomes = {
            "always on": always_on(intervals, terms),
            "sleep": None if wake is None else asleep(intervals, terms, after=after, wake=wake),
            "warm node": warm_node(
                intervals, terms, keep=least * MINUTE, restart=restart, warm=returns["warm node"].seconds
            ),
            "scale to zero": node_kept(intervals, terms, keep=least * MINUTE, restart=restart, fresh=fresh),
            # for how long is a question of what waiting costs
            **({"node kept": kept} if weighs else {}),
        }
        details = {
            "sleep": f"after {after:.0f} s",
            "warm node": f"warmNodes {nodes}, consolidateAfter {change.spelled(least)}",
            "node kept": f"consolidateAfter {change.spelled(keep)}",
            "scale to zero": f"consolidateAfter {change.spelled(least)}, the shortest",
        }
        rows = [
            _row(stack, name, policy, it, changes[policy], tries[policy], details.get(policy, ""))
            for policy, it in outcomes.items()
        ]
    breaks = break_evens(terms, least=least * MINUTE, restart=restart, fresh=fresh, wake=wake) if weighs else ()
    return Plan(
        server=name,
        kind=kind,
        nodes=nodes,
        price=price,
        unpriced="" if price else _unpriced(stack, server.pool, pool, kind),
        penalty=penalty,
        weighs=weighs,
        terms=terms,
        intervals=intervals,
        returns=returns,
        passed_over=passed_over,
        rows=rows,
        breaks=list(breaks),
    )


def _doubts(tried: Settings, name: str, region: str) -> list[str]:
    """Return what a server may run short of asleep."""
    server = tried.servers[name]
    about = situation(server, tried.pools[server.pool], region)
    return [said for _, said in host_memory.warnings(about, server.chosen)]


def _row(
    stack: Stack,
    name: str,
    policy: str,
    outcome: Outcome | None,
    its: Change,
    tried: Settings | list[str],
    detail: str,
) -> Row:
    if isinstance(tried, list):
        return Row(policy=policy, outcome=None, change=its, wrong=tried, detail=detail)
    return Row(
        policy=policy,
        outcome=outcome,
        change=its,
        wrong=[],
        # of the policy that sleeps: the others neither need it nor bring it
        doubts=_doubts(tried, name, stack.region) if policy == "sleep" else [],
        to_do=to_do(policy, its, tried, name),
        detail=detail,
    )


def _usd(row: Row) -> float:
    return row.outcome.usd if row.outcome else float("inf")


def _returns(
    stack: Stack,
    name: str,
    kind: InstanceType,
    tries: Mapping[str, Settings | list[str]],
    records: Sequence[Record],
) -> tuple[dict[Start, Return], Mapping[str, int]]:
    """Return each way back, of the server as the policy sets it up that needs it."""
    needed: dict[Start, str] = {
        "fresh node": "scale to zero",
        "restart": "scale to zero",
        "warm node": "warm node",
        "wake": "sleep",
    }
    found: dict[Start, Return] = {}
    whose = []
    for start, policy in needed.items():
        tried = tries[policy]
        # what the stack file cannot have is reckoned with as it is: a row says that it cannot
        settings = stack.settings if isinstance(tried, list) else tried
        who = wanted(settings, name, kind, stack.region)
        whose.append(who)
        seen = foreseen(settings, name, kind, stack.region) | measured(records, [who])[0]
        if start in seen:
            found[start] = seen[start]
    return found, measured(records, whose)[1]


def _wakes_from_outside(tried: Settings | list[str], name: str) -> bool:
    """Whether somebody else than idle time lets the server sleep: then it does at once."""
    if isinstance(tried, list):
        return False
    server = tried.servers[name]
    return (server.sleep.wake or server.wake) == "external"


def _kind(pool: GpuPool, name: str, asked: str | None) -> InstanceType:
    kinds = {kind.name: kind for kind in pool.types}
    if asked is None:
        return pool.types[0]
    if asked not in kinds:
        raise UsageError(f"--instance-type {echo(asked)}: not of pool {name}; expected one of {', '.join(kinds)}")
    return kinds[asked]


def _price(name: str, pool: GpuPool, kind: InstanceType, region: str, spot: float | None) -> Price | None:
    path = f"gpuPools.{name}"
    if pool.capacity.static or pool.capacity.reserved:
        raise RefusedError(
            f"{path}.capacity: {pool.capacity.shape}: its nodes cost the same whether they are used or not, so nothing"
            " is saved by being idle in another way"
        )
    if spot is not None:
        if not 0 < spot <= MOST_USD:  # not NaN either
            raise UsageError(f"--spot-price {spot:g}: expected more than 0 and at most {MOST_USD} USD an hour")
        if "spot" not in pool.capacity.markets:
            raise UsageError(f"--spot-price: {path}.capacity is {pool.capacity.shape}; its nodes are never Spot")
        return Price(spot, "--spot-price")
    return pool.price(kind.name, region)


def _unpriced(stack: Stack, name: str, pool: GpuPool, kind: InstanceType) -> str:
    option = ", or --spot-price USD" if "spot" in pool.capacity.markets else ""
    return unknown(stack, name, kind.name) + option
