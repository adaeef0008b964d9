"""The comparison for a program."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from ops.impact.compare import Impact
from ops.impact.drift import Cause, Drift
from ops.impact.leaves import Change
from ops.impact.limits import Verdict
from ops.impact.servers.predicted import Starts
from ops.impact.servers.verdict import Server


def document(impact: Impact, verdicts: Sequence[Verdict] = ()) -> dict[str, Any]:
    """Return the comparison as JSON has it, camelCase, seconds and USD as numbers; null is `not known` or `absent`."""
    return {
        "stack": impact.stack,
        "refusal": None,
        "base": impact.before,
        "head": impact.after,
        "resources": dict(impact.resources.counts),
        "servers": {it.name: _server(it) for it in impact.servers},
        "drift": [_drift(it) for it in impact.drifts],
        "systemNodes": [
            {"group": it.group, "nodes": it.nodes, "causes": [_cause(cause) for cause in it.causes]}
            for it in impact.system_nodes
        ],
        "ended": [
            {
                "type": it.type,
                "name": it.name,
                "action": it.action,
                "forcedBy": list(it.forced_by),
                "follows": it.follows,
                "stateful": it.stateful or None,
                "retained": it.retained,
                "routine": it.routine,
            }
            for it in impact.resources.ended
        ],
        "cost": {
            "usdPerHour": impact.cost.delta,
            **{
                name: [
                    {"what": it.what, "before": it.before, "after": it.after, "usd": list(it.usd)}
                    for it in items
                    if it.changes
                ]
                for name, items in (("standing", impact.cost.standing), ("ceiling", impact.cost.ceiling))
            },
        },
        "warnings": list(impact.warnings),
        "limits": [asdict(it) for it in verdicts],
    }


def _server(it: Server) -> dict[str, Any]:
    return {
        "state": it.state,
        "cache": {
            "outcome": it.cache.outcome,
            "cold": it.cache.cold,
            "baseStays": it.cache.base_stays,
            "buildable": it.cache.buildable,
            "moved": {name: list(pair) for name, pair in it.cache.moved.items()},
        }
        if it.cache
        else None,
        "pods": {
            "restart": it.pods.restart,
            "certain": it.pods.certain,
            "changed": [_change(change) for change in it.pods.changed],
            "replaced": it.pods.replaced,
            "rollout": it.pods.rollout,
            "replicas": list(it.pods.replicas),
        }
        if it.pods
        else None,
        "evicted": it.evicted,
        "weightsToOnboard": it.weights or None,
        "noRoomToBuild": it.no_room or None,
        "interruptions": [asdict(each) for each in it.interruptions],
        "predicted": {"before": _starts(it.before), "after": _starts(it.after)},
    }


def _drift(it: Drift) -> dict[str, Any]:
    return {
        "pool": it.pool,
        "atMost": it.at_most,
        "gone": it.gone,
        "window": it.window,
        "causes": [_cause(cause) for cause in it.causes],
    }


def _cause(it: Cause) -> dict[str, Any]:
    return {"field": it.field, "nodes": it.nodes, "change": _change(it.change) if it.change else None}


def _change(it: Change) -> dict[str, Any]:
    return {"path": it.path, "before": it.before, "after": it.after}


def _starts(it: Starts | None) -> dict[str, Any] | None:
    return None if it is None else {"type": it.type, "seconds": dict(it.seconds), "phases": dict(it.phases)}
