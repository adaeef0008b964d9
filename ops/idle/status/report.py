"""What is idle, for people and for programs."""

from collections.abc import Iterator
from datetime import datetime
from typing import Any

from ops.idle.plan.report import short
from ops.idle.status.fall_back import FallBack
from ops.idle.status.look import Found
from ops.terminal import columns


def text(found: Found) -> str:
    """Return it for people."""
    return "\n".join(_lines(found))


def _lines(found: Found) -> Iterator[str]:
    if found.servers:
        yield columns(
            [
                ("SERVER", "STATE", "FOR", "WHERE"),
                *((it.server, it.state, _since(it.since, found.now), it.detail) for it in found.servers),
            ]
        )
    else:
        yield "no server sleeps or is stopped"
    yield ""
    if idle := [node for node in found.nodes if node.is_idle]:
        head = ("NODE", "POOL", "TYPE", "MARKET", "STATE", "FOR", "KARPENTER TAKES IT", "USD/HOUR ON-DEMAND")
        rows = [
            (
                it.name,
                it.pool,
                it.instance_type or "?",
                it.market or "?",
                it.state,
                _since(it.since, found.now),
                _until(it.goes, it.state, found.now),
                _usd(found.prices[it.name]),
            )
            for it in idle
        ]
        yield columns([head, *rows])
    else:
        yield f"no idle GPU node ({len(found.nodes)} with work)" if found.nodes else "no GPU node"
    for it in found.fall_backs:
        yield ""
        yield from _fall_back(it)
    yield from found.unpriced
    for line in found.unclear:
        yield f"could not tell: {line}"


def _fall_back(it: FallBack) -> Iterator[str]:
    more = f"{it.more:.2f} USD an hour more" if it.more is not None else "nobody knows how much more"
    yield (
        f"{it.node.name}: on-demand ({_usd(it.on_demand)} USD an hour) where Spot (now {_usd(it.spot)}) was wanted:"
        f" {more}; Karpenter moves nothing back by itself, it takes empty nodes alone"
    )
    whose = ", ".join(it.node.servers) or "nobody"
    pays = f", paid by what is saved after {short(it.pays_after)}" if it.pays_after is not None else ""
    yield f"  back to Spot: {it.command}"
    yield (
        f"  costs a start: {it.seconds:.0f} s (predicted) without this pod of {whose}{pays};"
        " on-demand again when Spot has no capacity then"
    )


def _since(moment: datetime | None, now: datetime) -> str:
    return "-" if moment is None else short(max(0.0, (now - moment).total_seconds()))


def _until(moment: datetime | None, state: str, now: datetime) -> str:
    if moment is None:
        return "never, or not told" if state == "empty" else "-"
    left = (moment - now).total_seconds()
    return f"in {short(left)}" if left > 0 else "now"


def _usd(price: float | None) -> str:
    return "unknown" if price is None else f"{price:.2f}"


def document(found: Found) -> dict[str, Any]:
    """Return it for a program."""
    return {
        "now": found.now.isoformat(),
        "servers": [
            {"server": it.server, "state": it.state, "since": _iso(it.since), "detail": it.detail}
            for it in found.servers
        ],
        "nodes": [
            {
                "node": it.name,
                "nodeClaim": it.claim or None,
                "pool": it.pool,
                "instanceType": it.instance_type,
                "market": it.market,
                "state": it.state,
                "emptySince": _iso(it.since),
                "goes": _iso(it.goes),
                "onDemandUsdPerHour": found.prices[it.name],
                "servers": list(it.servers),
            }
            for it in found.nodes
        ],
        "fallBacks": [
            {
                "node": it.node.name,
                "onDemandUsdPerHour": it.on_demand,
                "spotUsdPerHour": it.spot,
                "moreUsdPerHour": it.more,
                "command": it.command,
                "startSeconds": it.seconds,
                "paysAfterSeconds": it.pays_after,
            }
            for it in found.fall_backs
        ],
        "unpriced": list(found.unpriced),
        "unclear": list(found.unclear),
    }


def _iso(moment: datetime | None) -> str | None:
    return moment.isoformat() if moment else None
