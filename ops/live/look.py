"""What `ops status` asks: the API for pods, nodes and Karpenter's claims, and each pod's agent and engine."""

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import cache, partial
from http import HTTPStatus
from http.client import HTTPConnection
from typing import Any, TypeVar

from infra.gpu_pools import GpuPool
from infra.gpu_pools.agreed import CAPACITY_LABEL, TYPE_LABEL
from infra.gpu_pools.capacity import MARKETS
from infra.gpu_pools.manifests import node_pool_name
from ops.cluster.api import Body, Cluster
from ops.cluster.tunnel import connection
from ops.failures import Failure, UnclearError
from ops.idle.prices import unknown
from ops.live import pods
from ops.live.agent import Agent
from ops.live.state import Standing, engine_phase, of_pod, why_pending
from ops.live.status import Node, Row
from ops.programs import RESTORE_LINE
from ops.stack.stack_file import Stack
from ops.terminal import plain, size
from serving.front import CONTROL_PORT
from serving.pod import CONTAINER
from serving.server import ServerSettings
from serving.techniques.node_cache import PREPARER

SILENT = 5.0
"""Seconds that one pod may be silent: the others are to be shown too."""

LOG_LINES = 2000
"""Of a starting engine's log: a start is some hundred lines."""


REQUESTS = re.compile(r"^vllm:num_requests_(running|waiting)(?:\{[^}]*\})? (\S+)", re.MULTILINE)
"""What an engine works on, and what waits for it: the gauge and its value, once for each of its processes."""

_Found = TypeVar("_Found")

_Supply = tuple[list[Body], list[Body]]
"""Karpenter's claims for nodes, and the events that tell of them and of pods."""


def said_by_agent(cluster: Cluster, pod: Body) -> dict[str, Any]:
    """Return what a pod's agent says of itself (`ops.live.agent.Agent`).

    Raises:
        UnclearError: it does not say.
    """
    where = pod["metadata"]["namespace"], pods.name(pod)
    with connection(cluster, *where, CONTROL_PORT, timeout=SILENT) as opened:
        return dict(Agent(opened).state())


def metrics(opened: HTTPConnection) -> str:
    """Return an engine's metrics. That wakes nobody, and asks for no token (docs/front-proxy.md).

    Args:
        opened: a connection to the pod's port.

    Raises:
        UnclearError: it has none.
    """
    opened.request("GET", "/metrics")
    answer = opened.getresponse()
    text = answer.read().decode("utf-8", "replace")
    if answer.status != HTTPStatus.OK:
        raise UnclearError(f"/metrics: {answer.status}")
    return text


def rows(cluster: Cluster, stack: Stack, servers: Sequence[str], say: Callable[[str], None]) -> list[Row]:
    """Return how the servers stand.

    Args:
        cluster: the stack's.
        stack: names them.
        servers: to be looked at.
        say: shows what is looked at.

    Raises:
        UnclearError: pods cannot be listed. What else cannot be read is in the rows.
    """
    found: list[Row] = []
    # asked when the first pod is pending, and once for all
    supply = cache(partial(_supply, cluster, stack.settings.namespace))
    for server in servers:
        say(server)
        listed = pods.of_server(cluster, stack.settings.namespace, server)
        if not listed:
            found.append(_without_pods(cluster, stack, server))
        for pod in listed:
            say(f"{server}: {pods.name(pod)}")
            found.append(_Look(cluster, stack, server, supply).row(pod))
    return found


def _supply(cluster: Cluster, namespace: str) -> _Supply:
    claims = cluster.find("/apis/karpenter.sh/v1/nodeclaims")
    events = [
        event
        for each in dict.fromkeys((namespace, "default"))
        for event in cluster.list(f"/api/v1/namespaces/{each}/events")
    ]
    return (claims or {}).get("items") or [], events


def _without_pods(cluster: Cluster, stack: Stack, server: str) -> Row:
    try:
        standing = Standing(*pods.why_none(cluster, stack.settings.namespace, server))
    except UnclearError as failure:
        return Row(server=server, pod=None, standing=Standing("no pod"), unseen=(f"why it has none: {failure}",))
    return Row(server=server, pod=None, standing=standing)


class _Look:
    """One pod. What fails is noted, and the rest is looked at all the same."""

    def __init__(self, cluster: Cluster, stack: Stack, server: str, supply: Callable[[], _Supply]) -> None:
        self._cluster, self._stack, self._server, self._supply = cluster, stack, server, supply
        self._namespace = stack.settings.namespace
        self._settings: ServerSettings = stack.server(server)
        self._unseen: list[str] = []

    def row(self, pod: Body) -> Row:
        """Return it."""
        standing = of_pod(pod)
        if standing.word == "pending" and not pod["spec"].get("nodeName"):
            why = self._tried("why it is pending", lambda: self._why_pending(pod))
            standing = replace(standing, detail=why or standing.detail)
        elif standing.word == "starting" and not standing.detail:
            phase = self._tried("the engine's log", lambda: self._phase(pod))
            standing = replace(standing, detail=phase or "")
        pool = self._stack.settings.gpu_pools[self._settings.pool]
        node = self._tried("its node", lambda: self._node(pod, pool)) if pod["spec"].get("nodeName") else None
        made = Row(
            server=self._server,
            pod=pods.name(pod),
            standing=standing,
            node=node,
            fallback=bool(node and node.capacity == "on-demand" and pool.capacity.markets == MARKETS["spot-first"]),
            cache=restored(pod),
        )
        if standing.word in {"ready", "not ready"}:
            made = self._asked(made, pod)
        return replace(made, unseen=tuple(self._unseen))

    def _asked(self, row: Row, pod: Body) -> Row:
        asks = pods.sleeps(pod)
        state = self._tried("its agent", lambda: said_by_agent(self._cluster, pod)) if asks else None
        if state is not None:
            # that the engine is awake says not that the pod is ready
            word = row.standing.word if state["state"] == "awake" else str(state["state"])
            standing = Standing(word, plain(str(state.get("problem") or "")))
            row = replace(row, standing=standing, held=state.get("held"), seconds=state.get("seconds"))
        counts = self._tried("its requests", lambda: self._requests(pod))
        return replace(row, running=counts["running"], waiting=counts["waiting"]) if counts else row

    def _requests(self, pod: Body) -> dict[str, int]:
        port = pods.port(pod, direct=False)
        with connection(self._cluster, self._namespace, pods.name(pod), port, timeout=SILENT) as opened:
            return requests(metrics(opened))

    def _phase(self, pod: Body) -> str:
        path = f"/api/v1/namespaces/{self._namespace}/pods/{pods.name(pod)}/log"
        log = self._cluster.text(path, container=CONTAINER, tailLines=str(LOG_LINES))
        return engine_phase(log, self._settings.engine.version)

    def _node(self, pod: Body, pool: GpuPool) -> Node:
        name = str(pod["spec"]["nodeName"])
        found = self._cluster.find(f"/api/v1/nodes/{name}")
        if found is None:
            raise UnclearError(f"node {name} is gone, and the pod is still there")
        labels = found["metadata"].get("labels") or {}
        kind = labels.get(TYPE_LABEL, "")
        price = pool.price(kind, self._stack.region)
        made = datetime.fromisoformat(found["metadata"]["creationTimestamp"])
        return Node(
            name=name,
            instance_type=kind,
            capacity=labels.get(CAPACITY_LABEL, ""),
            age=max(0.0, (datetime.now(UTC) - made).total_seconds()),
            usd=price.usd if price else None,
            unpriced=unknown(self._stack, self._settings.pool, kind) if kind and price is None else "",
        )

    def _why_pending(self, pod: Body) -> str:
        claims, events = self._supply()
        name = self._settings.pool
        pool = node_pool_name(name, self._stack.settings.gpu_pools[name])
        return why_pending(pod, pool, claims, events)

    def _tried(self, what: str, ask: Callable[[], _Found]) -> _Found | None:
        try:
            return ask()
        except Failure as failure:
            self._unseen.append(f"{what}: {failure}")
            return None


def restored(pod: Body) -> str | None:
    """Return what the pod's restore of the start-up cache came to, from the line that it left as its last word."""
    ended = (pods.status(pod, PREPARER).get("state") or {}).get("terminated") or {}
    found = RESTORE_LINE.search(str(ended.get("message", "")))
    if found is None:
        return None
    size_of = f", {size(int(found['bytes']))} in {float(found['seconds']):.1f} s" if int(found["bytes"]) else ""
    return f"{found['outcome']} ({found['restored']}{size_of})"


def requests(text: str) -> dict[str, int]:
    """Return how many requests the engine runs and queues, over all its processes.

    Raises:
        UnclearError: the metrics have no such gauges.
    """
    counts: dict[str, int] = {}
    for name, value in REQUESTS.findall(text):
        try:
            counts[name] = counts.get(name, 0) + int(float(value))
        except (ValueError, OverflowError):
            raise UnclearError(f"/metrics: vllm:num_requests_{name} is no number") from None
    if set(counts) != {"running", "waiting"}:
        raise UnclearError("/metrics: no vllm:num_requests_running and _waiting")
    return counts
