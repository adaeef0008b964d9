"""The situations that can be provoked, and the steps that they share.

Each is planned first, which only looks and refuses, then told, agreed to, and done with promises to put it back.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from infra.gpu_pools.agreed import TYPE_LABEL
from ops.cluster.api import Body, Cluster, DeniedError
from ops.cluster.room import has_ended
from ops.coldstart.measure.put_back import Promise, PutBack
from ops.coldstart.measure.target import Target
from ops.failures import UnclearError

Say = Callable[[str], None]

POLL = 0.5
"""Seconds between two looks: times are the API's own, so a look later than this costs patience, not accuracy."""

SILENCE = 180.0
"""Seconds that the API may be silent, as while a Job is followed."""

NODES, PODS = "/api/v1/nodes", "/api/v1/pods"
CLAIMS = "/apis/karpenter.sh/v1/nodeclaims"


class LostError(UnclearError):
    """What is waited for will never come."""


class Plan(Protocol):
    """A situation that can be provoked on a server as it is now."""

    @property
    def will(self) -> Sequence[str]:
        """What will be done to the cluster, a line each."""

    @property
    def overhead(self) -> float:
        """Seconds that it takes until the pod is made which is measured, as far as known."""

    @property
    def instance(self) -> str | None:
        """Type of the node on which the pod will start; None: Karpenter chooses."""

    def provoke(self, back: PutBack, say: Say) -> "Before":
        """Do it, and return when the Deployment may make the pod that is measured."""


@dataclass(frozen=True, kw_only=True)
class Before:
    """What was there before."""

    pods: frozenset[str]
    """Uids of the server's pods."""
    node: str
    """Where the pod was that has gone."""
    lent: Sequence[Promise] = ()
    """To be put back as soon as the new pod has a node."""


def until(what: str, limit: float, done: Callable[[], bool]) -> None:
    """Wait until something is so.

    Args:
        what: is waited for, for messages: `pod x to go`.
        limit: seconds.
        done: looks. It may fail for a while: control planes are replaced.

    Raises:
        UnclearError: it is not, or nobody may look.
    """
    begun = answered = time.monotonic()
    while True:
        try:
            if done():
                return
            answered = time.monotonic()
        except (DeniedError, LostError):
            raise
        except UnclearError as silence:
            if time.monotonic() - answered > SILENCE:
                raise UnclearError(f"waited for {what}, and {silence}") from None
        if time.monotonic() - begun > limit:
            raise UnclearError(f"waited {limit:.0f} s for {what}")
        time.sleep(POLL)


def scale(cluster: Cluster, target: Target, replicas: int) -> None:
    """Set the number of the server's pods."""
    cluster.merge(f"{target.path}/scale", {"spec": {"replicas": replicas}})


def comes_back(cluster: Cluster, target: Target, back: PutBack, *, to: int) -> Promise:
    """Promise to bring back the pods that will be taken away, unless somebody has set another number than `to`."""
    name, namespace, replicas = target.server.name, target.namespace, target.replicas

    def act() -> None:
        found = cluster.find(target.path)
        if found and found["spec"]["replicas"] == to:
            scale(cluster, target, replicas)

    return back.promise(
        f"replicas of {target.title}: {replicas}",
        f"kubectl -n {namespace} scale deployment/{name} --replicas={replicas}",
        act,
    )


def scaled_down(cluster: Cluster, target: Target, say: Say, *, to: int) -> None:
    """Take pods away, and wait until they are gone. `comes_back` is promised before."""
    say("waiting for the pod to go")
    scale(cluster, target, to)
    path = f"/api/v1/namespaces/{target.namespace}/pods"
    until(
        f"pods of {target.title} to be {to}",
        grace(target) + 120,
        lambda: sum(not has_ended(it) for it in cluster.list(path, labelSelector=target.selector)) <= to,
    )


def grace(target: Target) -> float:
    """Return the seconds that a pod of the server may take to end."""
    return float(target.server.settings.shutdown.grace)


def node_of(cluster: Cluster, pod: Body) -> Body:
    """Return the node of a pod.

    Raises:
        UnclearError: it is gone.
    """
    name = pod["spec"]["nodeName"]
    node = cluster.find(f"{NODES}/{name}")
    if node is None:
        raise UnclearError(f"node {name} of pod {pod['metadata']['name']}: gone")
    return node


def instance_of(node: Body) -> str | None:
    """Return a node's instance type."""
    return (node["metadata"].get("labels") or {}).get(TYPE_LABEL)
