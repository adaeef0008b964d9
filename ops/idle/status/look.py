"""What is idle now: the questions to the cluster and to EC2, and all answers together."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from infra.gpu_pools import POOL_LABEL
from infra.gpu_pools.manifests import NODE_POOL
from infra.naming import idle_job, server_of
from ops.cluster.api import Body, Cluster
from ops.cluster.room import pods
from ops.failures import OK, UNCLEAR
from ops.idle.prices import unknown
from ops.idle.status.fall_back import FallBack, SpotPrice, fall_backs, spot_now
from ops.idle.status.nodes import Node, seen
from ops.idle.status.servers import Asked, Idle, sleeping, stopped
from ops.stack.stack_file import Stack


@dataclass(frozen=True, kw_only=True)
class Found:
    """Everything that is idle."""

    now: datetime
    servers: Sequence[Idle]
    nodes: Sequence[Node]
    """GPU nodes, all of them."""
    fall_backs: Sequence[FallBack]
    unclear: Sequence[str]
    """What nobody could tell, a line each."""
    prices: dict[str, float | None]
    """USD an hour on-demand, by node."""
    unpriced: Sequence[str] = ()
    """The settings that say the prices nobody knows, a line each."""

    @property
    def code(self) -> int:
        """Exit code."""
        return UNCLEAR if self.unclear else OK


def looked(
    cluster: Cluster,
    stack: Stack,
    *,
    say: Callable[[str], object] = lambda _: None,
    asleep: Asked | None = None,
    spot: SpotPrice | None = None,
) -> Found:
    """Return what is idle.

    Args:
        cluster: the stack's.
        stack: its stack file.
        say: is told what is going on.
        asleep: asks a pod's agent; None: none is asked.
        spot: says what Spot costs; None: EC2 is asked.

    Raises:
        UnclearError: the cluster does not tell.
    """
    now = datetime.now(UTC)
    settings = stack.settings
    say("pods")
    all_pods = list(pods(cluster))
    servers: list[Idle] = []
    unclear: list[str] = []
    for name, server in settings.servers.items():
        say(f"servers.{name}")
        deployment = cluster.find(f"/apis/apps/v1/namespaces/{settings.namespace}/deployments/{name}")
        job = f"/apis/batch/v1/namespaces/{settings.namespace}/cronjobs/{idle_job(name, 'stop')}"
        stop = cluster.find(job) if server.idle else None
        if its := stopped(name, server, deployment, stop):
            servers.append(its)
        mine = [pod for pod in all_pods if _is_of(pod, name, settings.namespace)]
        sleep, silent = sleeping(name, server, mine, asleep, now)
        servers += sleep
        unclear += silent
    say("nodes")
    bodies = cluster.list("/api/v1/nodes", labelSelector=POOL_LABEL)
    nodes = (
        seen(
            bodies,
            cluster.list(f"/apis/{NODE_POOL}/nodeclaims"),
            cluster.list(f"/apis/{NODE_POOL}/nodepools"),
            all_pods,
        )
        if bodies
        else []
    )
    prices = {node.name: _price(node, stack) for node in nodes}
    dear, unclear_prices = fall_backs(nodes, stack, spot or spot_now(stack))
    return Found(
        now=now,
        servers=servers,
        nodes=nodes,
        fall_backs=dear,
        unclear=[*unclear, *unclear_prices],
        prices=prices,
        unpriced=_unpriced([node for node in nodes if prices[node.name] is None], stack),
    )


def _price(node: Node, stack: Stack) -> float | None:
    pool = stack.settings.pools.get(node.pool)
    price = pool.price(node.instance_type, stack.region) if pool else None
    return price.usd if price else None


def _unpriced(nodes: Sequence[Node], stack: Stack) -> list[str]:
    pools = stack.settings.pools
    kinds = {
        (it.pool, it.instance_type): None
        for it in nodes
        # of others the stack file may not say a price
        if it.pool in pools and it.instance_type in {kind.name for kind in pools[it.pool].types}
    }
    return [unknown(stack, pool, kind) for pool, kind in kinds]


def _is_of(pod: Body, server: str, namespace: str) -> bool:
    metadata = pod["metadata"]
    return metadata["namespace"] == namespace and server_of(metadata.get("labels") or {}) == server
