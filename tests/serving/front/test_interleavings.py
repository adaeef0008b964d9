"""What may happen, in the middle of what may be going on: nothing is lost, answered twice, or sent to a sleeper."""

import signal
import subprocess
import sys
import time
from collections.abc import Callable

import pytest

from tests.serving.front.calls import Client, check
from tests.serving.front.pod import Pod, until
from tests.serving.scripts import program

SLOW = 0.4
"""Seconds that a sleep or a wake takes where something shall happen in the middle of it."""


def idle(pod: Pod, client: Client) -> None:
    pass


def running(pod: Pod, client: Client) -> None:
    client.call(seconds=0.5)
    until(lambda: pod.control("/state")["inFlight"] == 1)


def streaming(pod: Pod, client: Client) -> None:
    client.stream()
    until(lambda: pod.control("/state")["inFlight"] == 1)


def trickling(pod: Pod, client: Client) -> None:
    client.call(trickle=1.0)
    time.sleep(0.1)


def draining(pod: Pod, client: Client) -> None:
    streaming(pod, client)
    pod.control("/sleep")
    until(lambda: pod.state == "draining")


def falling(pod: Pod, client: Client) -> None:
    pod.knobs(sleep_seconds=SLOW)
    pod.control("/sleep")
    until(lambda: len(pod.orders()) == 3)


def asleep(pod: Pod, client: Client) -> None:
    pod.asleep()


def waking(pod: Pod, client: Client) -> None:
    pod.asleep()
    pod.knobs(wake_up_seconds=SLOW)
    client.call()
    until(lambda: pod.state == "waking")


SITUATIONS = (idle, running, streaming, trickling, draining, falling, asleep, waking)


def request(pod: Pod, client: Client) -> None:
    client.call()


def stream(pod: Pod, client: Client) -> None:
    client.stream()


def burst(pod: Pod, client: Client) -> None:
    for _ in range(15):
        client.call(seconds=0.05)


def trickle(pod: Pod, client: Client) -> None:
    client.call(trickle=0.5)


def sleep(pod: Pod, client: Client) -> None:
    pod.control("/sleep")


def wake(pod: Pod, client: Client) -> None:
    pod.control("/wake")


def sleep_then_request(pod: Pod, client: Client) -> None:
    pod.control("/sleep")
    client.call()
    pod.control("/sleep")
    client.call()


def client_gone(pod: Pod, client: Client) -> None:
    client.stream(leave=0.1)
    client.call(trickle=0.1, leave=0.0)


def engine_dies(pod: Pod, client: Client) -> None:
    pod.kill("engine")
    client.call()
    until(lambda: pod.state == "starting")
    pod.start_engine()
    until(lambda: pod.state == "awake")


def agent_restarts(pod: Pod, client: Client) -> None:
    pod.kill("agent")
    client.call()
    pod.start_agent()
    until(lambda: pod.get("/ready")[0] == 200)


def pod_ends(pod: Pod, client: Client) -> None:
    """preStop, SIGTERM to the engine, and to its sidecars when it has ended: the last one first."""
    subprocess.run([sys.executable, program("agent_stop"), str(pod.control_port), "1"], check=True, timeout=10)
    for name in ("engine", "nginx", "agent"):
        pod.kill(name, signal.SIGTERM)
        assert pod.processes[name].wait(60) == 0, name


EVENTS = (request, stream, burst, trickle, sleep, wake, sleep_then_request, client_gone)
FAULTS = (engine_dies, agent_restarts, pod_ends)


@pytest.mark.parametrize("event", [*EVENTS, *FAULTS])
@pytest.mark.parametrize("situation", SITUATIONS)
def test_nothing_is_lost_answered_twice_or_sent_to_a_sleeper(
    pods: Callable[..., Pod], situation: Callable[[Pod, Client], None], event: Callable[[Pod, Client], None]
) -> None:
    pod = pods().start()
    client = Client(pod)
    situation(pod, client)
    before = list(client.calls)
    event(pod, client)
    calls = client.join()
    for call in calls:
        if call.gone:
            continue
        told = f"{call}"
        if event in EVENTS:
            assert (call.status, call.complete) == (200, True), told
        elif event is agent_restarts:
            # what has been let through goes on without an agent
            passed = call in before and situation in (running, streaming, draining)
            assert (call.status, call.complete) == (200, True) if passed else call.complete, told
            assert call.status == 200 or call.refused, told
        elif event is pod_ends:
            assert call.complete, told
            held = situation in (waking, trickling)
            assert call.status == 200 or (held and call.status in (502, 503)), told
        else:
            assert call.status in (0, 200, 502, 503), told
    if event is not pod_ends:
        last = client.plain()
        assert (last.status, last.complete) == (200, True)
        until(lambda: pod.control("/state")["inFlight"] == 0, "a request stays in the books")
        assert pod.control("/state")["held"] == 0
        calls.append(last)
    check(pod, calls)
