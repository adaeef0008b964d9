"""GPU nodes without work, and those that Spot would be cheaper than. From what the API says.

Karpenter (v1.14, nodeclaim/disruption/consolidation.go) takes an empty node `consolidateAfter` after the NodeClaim's
`lastPodEventTime`, or after it was initialized when no pod ever came. A pod that is ending counts as gone.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from infra.gpu_pools.agreed import CAPACITY_LABEL, NODE_POOL_LABEL, POOL_LABEL, TYPE_LABEL
from infra.gpu_pools.warm_nodes import pause_labels
from infra.naming import server_of
from ops.cluster.api import Body
from ops.cluster.room import gpus
from ops.idle.plan.intervals import duration
from ops.idle.status.servers import moment

UNDISTURBED = "karpenter.sh/do-not-disrupt"

_AGENTS = frozenset({"DaemonSet", "Node"})
"""Owners of pods that come with a node: Karpenter does not count them."""


@dataclass(frozen=True, kw_only=True)
class Node:
    """A GPU node."""

    name: str
    claim: str
    """Name of its NodeClaim; empty when it has none."""
    pool: str
    instance_type: str
    market: str
    """spot, on-demand or reserved; empty: not told."""
    state: str
    """`busy`, `warm` (pause pods alone), `empty`, `ending`, or what keeps it."""
    since: datetime | None
    """Since when it is empty."""
    goes: datetime | None
    """When Karpenter takes it; None: never, or nobody knows."""
    servers: Sequence[str] = ()
    """Whose pods are on it."""

    @property
    def is_idle(self) -> bool:
        """Whether no GPU pod is on it but those that keep it ready."""
        return self.state != "busy"


def seen(nodes: Iterable[Body], claims: Iterable[Body], pools: Iterable[Body], pods: Iterable[Body]) -> list[Node]:
    """Return the GPU nodes.

    Args:
        nodes: with the label of a pool.
        claims: NodeClaims.
        pools: NodePools.
        pods: all that have not ended.
    """
    by_node = {str((it.get("status") or {}).get("nodeName")): it for it in claims}
    after = {it["metadata"]["name"]: it["spec"].get("disruption", {}).get("consolidateAfter", "") for it in pools}
    on: dict[str, list[Body]] = {}
    for pod in pods:
        on.setdefault(str(pod["spec"].get("nodeName", "")), []).append(pod)
    return [_node(it, by_node.get(it["metadata"]["name"]), after, on.get(it["metadata"]["name"], ())) for it in nodes]


def _node(node: Body, claim: Body | None, after: Mapping[str, str], pods: Sequence[Body]) -> Node:
    labels = node["metadata"].get("labels") or {}
    pool = str(labels.get(POOL_LABEL, ""))
    state = _state(node, pool, pods)
    since = _empty_since(claim) if claim and state == "empty" else None
    keep = _keep(after.get(str(labels.get(NODE_POOL_LABEL)), ""))
    return Node(
        name=node["metadata"]["name"],
        claim=claim["metadata"]["name"] if claim else "",
        pool=pool,
        instance_type=str(labels.get(TYPE_LABEL, "")),
        market=str(labels.get(CAPACITY_LABEL, "")),
        state=state,
        since=since,
        goes=since + keep if since and keep else None,
        servers=sorted({name for pod in pods if (name := server_of(pod["metadata"].get("labels") or {}))}),
    )


def _state(node: Body, pool: str, pods: Sequence[Body]) -> str:
    counted = [pod for pod in pods if not _is_agent(pod) and "deletionTimestamp" not in pod["metadata"]]
    holders = [pod for pod in counted if gpus(pod["spec"])]
    if any(not pause_labels(pool).items() <= (pod["metadata"].get("labels") or {}).items() for pod in holders):
        return "busy"
    if node["metadata"].get("deletionTimestamp"):
        return "ending"
    if holders:
        return "warm"
    if counted:
        first = counted[0]["metadata"]
        return f"kept by pod {first['namespace']}/{first['name']}"
    if (node["metadata"].get("annotations") or {}).get(UNDISTURBED) == "true":
        return f"kept by its annotation {UNDISTURBED}"
    return "empty"


def _is_agent(pod: Body) -> bool:
    return any(owner.get("kind") in _AGENTS for owner in pod["metadata"].get("ownerReferences") or ())


def _empty_since(claim: Body) -> datetime | None:
    status = claim.get("status") or {}
    ready: Body = next((it for it in status.get("conditions") or () if it["type"] == "Initialized"), {})
    begun = ready.get("lastTransitionTime") if ready.get("status") == "True" else None
    return moment(status.get("lastPodEventTime") or begun)


def _keep(spelled: str) -> timedelta | None:
    """Return what a NodePool says; None: never, or nothing that is read here."""
    try:
        return timedelta(seconds=duration(spelled))
    except ValueError:
        return None
