"""A plan for people, and for programs."""

from collections.abc import Iterator
from typing import Any

from ops.idle.plan import change
from ops.idle.plan.plan import Plan, Row
from ops.idle.plan.policies import HOUR, Outcome
from ops.terminal import columns

_UNWEIGHED = (
    "what waiting costs (--penalty) is USD, and what nodes cost nobody knows: neither which policy costs least can be"
    " told, nor from when on one does"
)


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
    each = f"{plan.price.usd:g} USD an hour each ({plan.price.source})" if plan.price else "USD an hour unknown"
    yield f"{plan.server} on {nodes}: {each}; {plan.penalty}"
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
    if plan.weighs:
        head = ("IDLE LONGER THAN", "BETTER", "THAN", "SUM")
        yield columns([head, *((short(it.seconds), it.go, it.stay, it.sum) for it in plan.breaks)])
    else:
        yield _UNWEIGHED
    if plan.best:
        yield ""
        yield from _advice(plan, plan.best)


def _table(plan: Plan) -> Iterator[str]:
    intervals = plan.intervals
    if intervals is None:
        return
    busy = f"busy {short(intervals.busy)} between" if intervals.busy else "busy time not told (--busy), so counted as 0"
    yield f"idle: {intervals.source}; {busy}: {intervals.returns_a_day:.3g} returns a day"
    waits = ("WAIT P50", "P95", "MAX")
    head = (
        "POLICY",
        f"{_unit(plan).upper()}/DAY",
        "NODES",
        "STARTS",
        "PENALTY",
        "OF ALWAYS ON",
        *waits,
        "RETURNS",
        "SETTINGS",
    )
    stays = next((row.outcome.usd for row in plan.rows if row.policy == "always on" and row.outcome), None)
    rows = [_cells(plan, row, row.outcome, intervals.returns_a_day, stays) for row in plan.rows if row.outcome]
    yield columns([head, *rows])
    for row in plan.rows:
        for line in row.wrong:
            yield f"{row.policy}: not with this stack file: {line}"
        for line in row.doubts:
            yield f"{row.policy}: perhaps not: {line}"


def _unit(plan: Plan) -> str:
    """Return what sums are of."""
    return "USD" if plan.price else "node-hours"


def _cells(plan: Plan, row: Row, outcome: Outcome, a_day: float, stays: float | None) -> tuple[str, ...]:
    paths = ", ".join(f"{path.share:.0%} {path.name}" for path in outcome.paths if path.share)
    nodes = [f"{usd * a_day:.2f}" for usd in (outcome.usd, outcome.kept_usd, outcome.starting_usd)]
    penalty = f"{outcome.penalty_usd * a_day:.2f}" if plan.weighs else "unknown"
    ratio = f"{outcome.usd / stays:.0%}" if stays else "-"
    waits = (f"{outcome.wait(share):.1f} s" for share in (0.5, 0.95, 1.0))
    return (row.policy, *nodes, penalty, ratio, *waits, paths, row.detail or "-")


def _advice(plan: Plan, best: Row) -> Iterator[str]:
    outcome, intervals = best.outcome, plan.intervals
    if outcome is None or intervals is None:
        return
    paths = " + ".join(
        f"{path.share:.1%} x {path.seconds:.1f} s ({path.name})"
        for path in outcome.paths
        if path.share and path.seconds
    )
    yield f"best: {best.policy}{f' ({best.detail})' if best.detail else ''}: {best.to_do}"
    a_day = intervals.returns_a_day
    paid = f"{outcome.kept:.0f} s kept + {paths or 'no start'} = {outcome.kept + outcome.starting:.0f} s"
    unit = _unit(plan)
    each = f"{plan.terms.price:g} USD an hour" if plan.price else f"{plan.nodes} node{'s' if plan.nodes > 1 else ''}"
    waiting = f" + {outcome.penalty_usd:.4g} USD of waiting" if plan.price else ""
    yield (
        f"  ({paid}) x {each}{waiting}"
        f" = {outcome.usd:.4g} {unit} a return x {a_day:.3g} a day = {outcome.usd * a_day:.2f} {unit} a day"
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
        "usdPerHour": plan.terms.price if plan.price else None,
        "priceSource": plan.price.source if plan.price else None,
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
        "policies": [_policy(plan, row, intervals.returns_a_day) for row in plan.rows] if intervals else [],
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
        "unclear": [plan.unpriced] if plan.unpriced else [],
    }


def _policy(plan: Plan, row: Row, a_day: float) -> dict[str, Any]:
    known: dict[str, Any] = {
        "policy": row.policy,
        "settings": dict(row.change),
        "refused": list(row.wrong),
        "doubts": list(row.doubts),
        "toDo": row.to_do or None,
    }
    if (outcome := row.outcome) is None:
        return known
    money = {
        "usdPerDay": outcome.usd,
        "nodesUsdPerDay": outcome.kept_usd,
        "startsUsdPerDay": outcome.starting_usd,
        "penaltyUsdPerDay": outcome.penalty_usd,
    }
    return known | {
        **{name: usd * a_day if plan.price else None for name, usd in money.items()},
        "nodeHoursPerDay": (outcome.kept + outcome.starting) * plan.nodes / HOUR * a_day,
        "waitSeconds": {"p50": outcome.wait(0.5), "p95": outcome.wait(0.95), "max": outcome.wait(1.0)},
        "returns": [{"path": it.name, "seconds": it.seconds, "share": it.share} for it in outcome.paths],
    }
