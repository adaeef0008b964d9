"""A pod that has become Ready, and its node, as plain values. All times are seconds since 1970."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ops.coldstart.measure.seen.clock import moment, skew
from ops.coldstart.measure.seen.events import Event, Pulled, events, pulled
from serving.pod import CONTAINER

Body = Mapping[str, Any]


@dataclass(frozen=True, kw_only=True)
class Ran:
    """A container, by the node's clock. Of one that was started again, the last time."""

    started: float
    finished: float | None = None
    """None: it still runs."""


@dataclass(frozen=True, kw_only=True)
class Node:
    """Where the pod is."""

    name: str
    created: float
    """By the API server's clock: kubelet has registered."""
    ready: float | None
    """By the node's clock, when its condition Ready became what it is."""
    ahead: float | None
    """Seconds by which its clock is ahead of the API server's; None: unknown."""
    labels: Mapping[str, str]


@dataclass(frozen=True, kw_only=True)
class Seen:
    """Everything that the API says of a start. What it has in whole seconds is good to half a one (`clock.moment`)."""

    pod: str
    created: float
    """By the API server's clock."""
    scheduled: float
    """By the scheduler's clock, which is the control plane's too."""
    ready: float
    """By the node's clock: the first pass of readiness."""
    node: Node
    containers: Mapping[str, Ran]
    pull: Pulled
    restarts: int
    image: str
    probe_seconds: float | None


def is_ready(pod: Body) -> bool:
    """Whether a pod's condition Ready is true."""
    return _since(pod, "Ready") is not None


def seen(pod: Body, node: Body, leases: Iterable[Body], said: Iterable[Body]) -> Seen:
    """Return what there is to see of a pod that has just become Ready.

    Args:
        pod: as it was when it was first seen Ready: later its condition may have changed again.
        node: its node.
        leases: the node's, as it was at several times.
        said: events of the pod.

    Raises:
        ValueError: it is not Ready, or was never scheduled.
    """
    ready, scheduled = _since(pod, "Ready"), _since(pod, "PodScheduled")
    if ready is None or scheduled is None:
        raise ValueError(f"pod {pod['metadata']['name']} is not Ready")
    found = events(said)
    specs = [*(pod["spec"].get("initContainers") or ()), *pod["spec"]["containers"]]
    image = next(it["image"] for it in specs if it["name"] == CONTAINER)
    statuses = [
        *(pod["status"].get("initContainerStatuses") or ()),
        *(pod["status"].get("containerStatuses") or ()),
    ]
    return Seen(
        pod=pod["metadata"]["name"],
        created=moment(pod["metadata"]["creationTimestamp"]),
        scheduled=_exactly(scheduled, found),
        ready=ready,
        node=Node(
            name=node["metadata"]["name"],
            created=moment(node["metadata"]["creationTimestamp"]),
            ready=_since(node, "Ready"),
            ahead=skew(leases),
            labels=node["metadata"].get("labels") or {},
        ),
        containers={it["name"]: ran for it in statuses if (ran := _ran(it.get("state") or {}))},
        pull=pulled(found, [it["name"] for it in specs if it["image"] == image]),
        restarts=next((int(it["restartCount"]) for it in statuses if it["name"] == CONTAINER), 0),
        image=image,
        probe_seconds=_probe(specs),
    )


def _since(of: Body, kind: str) -> float | None:
    """Return since when a condition is true; None: it is not."""
    conditions = (of.get("status") or {}).get("conditions") or ()
    found = (it for it in conditions if it["type"] == kind and it["status"] == "True")
    return next((moment(it["lastTransitionTime"]) for it in found if it.get("lastTransitionTime")), None)


def _exactly(scheduled: float, found: Iterable[Event]) -> float:
    """Return the same moment with the microseconds of the scheduler's event, which may be gone."""
    return next((it.first for it in found if it.reason == "Scheduled" and abs(it.first - scheduled) <= 1), scheduled)


def _ran(state: Body) -> Ran | None:
    if running := state.get("running"):
        return Ran(started=moment(running["startedAt"]))
    if (ended := state.get("terminated")) and ended.get("startedAt") and ended.get("finishedAt"):
        return Ran(started=moment(ended["startedAt"]), finished=moment(ended["finishedAt"]))
    return None


def _probe(specs: Sequence[Body]) -> float | None:
    """Return the seconds between two questions for readiness, of the container that is asked least often."""
    asked = [it["readinessProbe"].get("periodSeconds", 10) for it in specs if it.get("readinessProbe")]
    return float(max(asked)) if asked else None
