"""The ways to a pod that a measurement takes in a real cluster: all by the API server's port-forward."""

from collections.abc import Iterator
from contextlib import contextmanager

from ops.cluster.api import Cluster
from ops.cluster.tunnel import connection
from ops.coldstart.measure.reach import PATIENCE, Reach, first_token
from ops.live.agent import Agent
from ops.live.look import metrics
from ops.stack.stack_file import Stack
from serving.engine import PORT
from serving.front import CONTROL_PORT, ENGINE_PORT
from serving.techniques.front.front_proxy import FRONT_PROXY


def ways(cluster: Cluster, stack: Stack, server: str) -> Reach:
    """Return them, for the pods of a server."""
    settings, namespace = stack.server(server), stack.settings.namespace
    # port-forward reaches loopback too: past the proxy nobody asks for a token
    port = ENGINE_PORT if FRONT_PROXY.name in settings.chosen else PORT

    @contextmanager
    def agent(pod: str) -> Iterator[Agent]:
        with connection(cluster, namespace, pod, CONTROL_PORT) as opened:
            yield Agent(opened)

    def token(pod: str) -> float:
        with connection(cluster, namespace, pod, port, timeout=PATIENCE) as opened:
            return first_token(opened, settings.model.served_name)

    def figures(pod: str) -> str:
        with connection(cluster, namespace, pod, PORT) as opened:
            return metrics(opened)

    return Reach(metrics=figures, agent=agent, first_token=token)
