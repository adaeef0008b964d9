"""`ops coldstart run` over the real agent and nginx: a wake, a first token, through the API server's port-forward."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from ops.coldstart.measure.provoke.wake import Wake
from ops.coldstart.measure.put_back import PutBack
from ops.coldstart.measure.target import Target, refuse_traffic
from ops.coldstart.measure.ways import ways
from ops.coldstart.server import Server
from ops.failures import RefusedError
from ops.stack.stack_file import read
from tests.ops.live.stand import Stand
from tests.serving.front.pod import Pod


@pytest.fixture
def target(stand: Stand, sleeping_stack: None) -> Callable[[str], Target]:
    def of(pod: str) -> Target:
        server, namespace = Server.of(read("dev"), "gemma"), stand.namespace
        found = stand.cluster().find(f"/api/v1/namespaces/{namespace}/pods/{pod}")
        assert found
        return Target(server=server, namespace=namespace, deployment={"spec": {"replicas": 1}}, pods=[found])

    return of


def test_a_wake_is_measured_and_leaves_the_server_awake(
    stand: Stand, sleeper: Callable[..., Pod], target: Callable[[str], Target]
) -> None:
    pod = sleeper("gemma-0")
    measured = target("gemma-0")
    reach = ways(stand.cluster(), measured.server.stack, "gemma")
    said: list[str] = []
    with PutBack() as back:
        woken = Wake.planned(measured, reach.agent).measured(back, said.append)
    assert 0 < woken.wake <= woken.total < 5
    assert said[0] == "falling asleep"
    assert said[-1] == "waking"
    with reach.agent("gemma-0") as agent:
        assert agent.state()["state"] == "awake"
    calls = pod.record.read_text()
    assert calls.index("/sleep?level=1") < calls.rindex("/wake_up")


def test_a_first_token_is_measured_past_the_proxy(
    stand: Stand, sleeper: Callable[..., Pod], target: Callable[[str], Target]
) -> None:
    sleeper("gemma-0")
    measured = target("gemma-0")
    reach = ways(stand.cluster(), measured.server.stack, "gemma")
    assert 0 < reach.first_token("gemma-0") < 5
    refuse_traffic(measured, reach.metrics)
    with pytest.raises(RefusedError):
        reach.first_token("gemma-9")
