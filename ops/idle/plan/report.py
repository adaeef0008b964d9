"""A plan for people, and for programs."""

from collections.abc import Iterator
from typing import Any

from ops.idle.plan import change
from ops.idle.plan.plan import Plan, Row
from ops.idle.plan.policies import Outcome
from ops.terminal import columns

_BY_HAND = "; takes effect once something takes the pods away: idle.schedule by the clock, `kubectl scale` by hand"
_GOES = frozenset({"node kept", "scale to zero", "warm node"})
"""Policies whose pods go."""


def short(seconds: float) -> str:
    """Return a time as people read it: 45 s, 12 min, 3.5 h, 2 days."""
    if seconds == float("inf"):
        return "never"
    for unit, length in (("days", 86400), ("h", 3600), ("min", 60)):
        if seconds >= 2 * length:
            return f"{seconds / length:.3g} {unit}"
    return f"{seconds:.3g} s"


def text(plan: Plan) -> str:
    """Return the plan for people."""
    return "\n".join(_lines(plan))


def _lines(plan: Plan) -> Iterator[str]:
    nodes = f"{plan.nodes} x {plan.kind.name}"
    yield f"{plan.server} on {nodes}: {plan.price.usd:g} USD an hour each ({plan.price.source}); {plan.terms.penalty}"
    yield ""
    yield columns(
        [("RETURN", "SECONDS", "KNOWN"), *((n, f"{r.seconds:.1f}", r.source) for n, r in plan.returns.items())]
    )
    for why, count in plan.passed_over.items():
        yield f"not counted: {count} measured, {why}"
    yield ""
    if plan.intervals is None:
        yield "no --intervals: without how long the server is idle at a time nobody can say what a policy costs"
    else:
        yield from _table(plan)
    yield ""
    head = ("IDLE LONGER THAN", "BETTER", "THAN", "SUM")
    yield columns([head, *((short(it.seconds), it.go, it.stay, it.sum) for it in plan.breaks)])
    if plan.best:
        yield ""
        yield from _advice(plan, plan.best)


def _table(plan: Plan) -> Iterator[str]:
    intervals = plan.intervals
    if intervals is None:
        return
    busy = f"busy {short(intervals.busy)} between" if intervals.busy else "busy time not told (--busy), so counted as 0"
    yield f"idle: {intervals.source}; {busy}: {intervals.returns_a_day:.3g} returns a day"
    head = ("POLICY", "USD/DAY", "NODES", "STARTS", "PENALTY", "WAIT P50", "P95", "MAX", "RETURNS", "SETTINGS")
    rows = [_cells(row, row.outcome, intervals.returns_a_day) for row in plan.rows if row.outcome]
    yield columns([head, *rows])
    for row in plan.rows:
        for line in row.wrong:
            yield f"{row.policy}: not with this stack file: {line}"
        for line in row.doubts:
            yield f"{row.policy}: perhaps not: {line}"


def _cells(row: Row, outcome: Outcome, a_day: float) -> tuple[str, ...]:
    paths = ", ".join(f"{path.share:.0%} {path.name}" for path in outcome.paths if path.share)
    money = (outcome.usd, outcome.kept_usd, outcome.starting_usd, outcome.penalty_usd)
    waits = (f"{outcome.wait(share):.1f} s" for share in (0.5, 0.95, 1.0))
    return (row.policy, *(f"{usd * a_day:.2f}" for usd in money), *waits, paths, row.detail or "-")


def _advice(plan: Plan, best: Row) -> Iterator[str]:
    outcome, intervals = best.outcome, plan.intervals
    if outcome is None or intervals is None:
        return
    paths = " + ".join(
        f"{path.share:.1%} x {path.seconds:.1f} s ({path.name})"
        for path in outcome.paths
        if path.share and path.seconds
    )
    yield f"best: {best.policy}{f' ({best.detail})' if best.detail else ''}{_BY_HAND if best.policy in _GOES else ''}"
    a_day = intervals.returns_a_day
    paid = f"{outcome.kept:.0f} s kept + {paths or 'no start'} = {outcome.kept + outcome.starting:.0f} s"
    yield (
        f"  ({paid}) x {plan.terms.price:g} USD an hour + {outcome.penalty_usd:.4g} USD of waiting"
        f" = {outcome.usd:.4g} USD a return x {a_day:.3g} a day = {outcome.usd * a_day:.2f} USD a day"
    )
    if best.policy in {"always on", "sleep"}:
        yield "  sleep costs what always on costs: it gives GPU memory back, and saves where servers share a GPU"
    yield ""
    yield "# below vllm-eks:settings"
    yield change.text(best.change)


def document(plan: Plan) -> dict[str, Any]:
    """Return the plan for a program."""
    intervals, best = plan.intervals, plan.best
    return {
        "server": plan.server,
        "instanceType": plan.kind.name,
        "nodes": plan.nodes,
        "usdPerHour": plan.terms.price,
        "priceSource": plan.price.source,
        "returns": {name: {"seconds": it.seconds, "source": it.source} for name, it in plan.returns.items()},
        "notCounted": dict(plan.passed_over),
        "intervals": None
        if intervals is None
        else {
            "source": intervals.source,
            "meanSeconds": intervals.mean,
            "busySeconds": intervals.busy,
            "returnsPerDay": intervals.returns_a_day,
        },
        "policies": [_policy(row, intervals.returns_a_day) for row in plan.rows] if intervals else [],
        "breakEvens": [
            {
                "stay": it.stay,
                "go": it.go,
                "seconds": None if it.seconds == float("inf") else it.seconds,
                "sum": it.sum,
            }
            for it in plan.breaks
        ],
        "best": best.policy if best else None,
        "settings": dict(best.change) if best else None,
    }


def _policy(row: Row, a_day: float) -> dict[str, Any]:
    known: dict[str, Any] = {
        "policy": row.policy,
        "settings": dict(row.change),
        "refused": list(row.wrong),
        "doubts": list(row.doubts),
    }
    if (outcome := row.outcome) is None:
        return known
    return known | {
        "usdPerDay": outcome.usd * a_day,
        "nodesUsdPerDay": outcome.kept_usd * a_day,
        "startsUsdPerDay": outcome.starting_usd * a_day,
        "penaltyUsdPerDay": outcome.penalty_usd * a_day,
        "waitSeconds": {"p50": outcome.wait(0.5), "p95": outcome.wait(0.95), "max": outcome.wait(1.0)},
        "returns": [{"path": it.name, "seconds": it.seconds, "share": it.share} for it in outcome.paths],
    }
