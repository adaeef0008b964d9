"""The end of an engine: killed, and ordered."""

import os
import signal
import threading
import time

from serving.front.containers import AGENT, PROXY
from serving.pod import CACHE
from tests.engine_check.checks.front import started
from tests.engine_check.client import CHAT, Answer, asked, call, until
from tests.engine_check.pod.kubelet import Answer as PodAnswer
from tests.engine_check.pod.rendered import DRAIN
from tests.engine_check.scene import BEARER, ENGINE, Scene, in_its_sleep


def a_killed_engine_ends_its_container_and_cuts_its_streams(scene: Scene) -> None:
    stream = scene.lasting(30)
    os.kill(scene.kubelet.engine_process(ENGINE), signal.SIGKILL)
    code = scene.kubelet.ended(ENGINE, 30)
    assert code == 137, f"the wrapper ends with {code}"
    stream.join()
    assert not stream.whole, "a stream that was cut looks complete"


def until_it_is_back_requests_get_503_with_retry_after(scene: Scene) -> None:
    scene.reaches("starting")
    assert not scene.ready()
    scene.kubelet.start(ENGINE)
    for _ in range(3):
        answer = scene.get(CHAT, "POST", asked(5, stream=True), **BEARER)
        assert answer.later, answer
        assert answer.status == 503, answer
    assert scene.get("/v1/models", **BEARER).status == 502
    assert scene.state == "starting"


def it_starts_again_and_sleeps_once_before_it_is_ready(scene: Scene) -> None:
    started(scene)
    scene.served()
    assert scene.state == "awake"


def no_request_has_reached_a_sleeping_engine(scene: Scene) -> None:
    calls = scene.calls()
    assert sum(one.startswith("POST /sleep") for one in calls) > 3, calls
    # that the log would tell has been seen: the one request that was sent to it in its sleep past the agent
    assert in_its_sleep(calls) == PAST, in_its_sleep(calls)


PAST: list[str] = []
"""What the check itself has sent to the sleeping engine, to see what it does with it."""


def before_SIGTERM_the_agent_is_told_and_what_still_comes_is_served(scene: Scene) -> None:
    """Leaves a stream running, for the next check."""
    scene.served()
    done: list[tuple[PodAnswer, float]] = []

    def stop() -> None:
        began = time.monotonic()
        done.append((scene.kubelet.before_stop(ENGINE), time.monotonic() - began))

    hook = threading.Thread(target=stop, daemon=True)
    hook.start()
    scene.reaches("stopping")
    assert not scene.ready()
    scene.served()
    scene.running = scene.lasting(30)
    hook.join(60)
    assert done, "the preStop hook does not end"
    answer, took = done[0]
    assert answer.good, answer
    assert DRAIN <= took < DRAIN + 10, f"the preStop hook took {took:.1f} s"


def SIGTERM_closes_the_port_and_lets_the_stream_end(scene: Scene) -> None:
    stream = scene.running
    assert stream.running, "too short a stream to see anything"
    scene.kubelet.send(ENGINE, signal.SIGTERM)
    until(lambda: call(scene.engine, "/health").status == 0, "its port stays open", 10)
    assert stream.running, "the stream ended first"
    refusals: list[Answer] = [scene.get(CHAT, "POST", asked(5, stream=True), **BEARER) for _ in range(3)]
    assert all(one.later for one in refusals), refusals
    code = scene.kubelet.ended(ENGINE, 120)
    stream.join()
    assert (stream.whole, stream.finish) == (True, "length"), (stream.finish, stream.broken, len(stream.tokens))
    assert code == 0, f"the wrapper ends with {code}"
    assert not list(scene.scratch.volume(CACHE).rglob(".starting-*")), "it leaves its mark"


def sidecars_end_in_order(scene: Scene) -> None:
    for name in (PROXY, AGENT):
        scene.kubelet.send(name, signal.SIGTERM)
        code = scene.kubelet.ended(name, 30)
        assert code == 0, f"{name} ends with {code}"


KILLED = (
    a_killed_engine_ends_its_container_and_cuts_its_streams,
    until_it_is_back_requests_get_503_with_retry_after,
)
BACK = (it_starts_again_and_sleeps_once_before_it_is_ready,)
ORDERED = (
    before_SIGTERM_the_agent_is_told_and_what_still_comes_is_served,
    SIGTERM_closes_the_port_and_lets_the_stream_end,
    no_request_has_reached_a_sleeping_engine,
    sidecars_end_in_order,
)
