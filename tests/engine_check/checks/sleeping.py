"""Sleep and wake of a pod with `wake: on-request`, and what becomes of requests meanwhile."""

import signal
import time

from serving.front.containers import AGENT, PROXY
from tests.engine_check.client import until
from tests.engine_check.pod.rendered import IDLE
from tests.engine_check.scene import BEARER, ENGINE, Scene, whole


def idle_it_falls_asleep_by_itself(scene: Scene) -> None:
    scene.served()
    began = time.monotonic()
    scene.sleeps()
    assert time.monotonic() - began > IDLE - 2, "it did not wait"


def asleep_it_is_ready_and_neither_models_nor_probes_wake_it(scene: Scene) -> None:
    assert scene.state == "asleep"
    for path in ("/v1/models", "/health", "/metrics", "/ready", "/agent/metrics"):
        assert scene.get(path, **BEARER).status == 200, path
    for name, kind in ((ENGINE, "liveness"), (AGENT, "liveness"), (PROXY, "liveness"), (PROXY, "readiness")):
        probe = scene.kubelet.probe(name, kind)
        assert probe.good, f"{kind} of {name}: {probe.said}"
    assert scene.get("/v1/models").status == 401
    assert scene.get("/tokenize", **BEARER).status == 404
    assert (scene.state, scene.is_sleeping()) == ("asleep", True)


def a_request_wakes_it(scene: Scene) -> None:
    before = len(scene.calls())
    scene.served(20)
    calls = [one for one in scene.calls()[before:] if one.startswith("POST")]
    assert calls == ["POST /wake_up 200", "POST /v1/chat/completions 200"], calls
    # nginx tells of an end when the client has it already
    until(lambda: scene.control("/state")["inFlight"] == 0, "the agent counts a request that has ended")
    state = scene.control("/state")
    assert (state["state"], state["held"], state["problem"]) == ("awake", 0, ""), state
    assert 0 < state["lastWakeSeconds"] < 20, state


def held_requests_reach_the_engine_once_it_is_awake_and_not_before(scene: Scene) -> None:
    """`stay`: no request wakes it, so that the hold lasts as long as it is looked at."""
    scene.control("/sleep?stay=true")
    scene.sleeps()
    before = len(scene.calls())
    streams = [scene.stream(20) for _ in range(6)]
    until(lambda: scene.control("/state")["held"] == len(streams), "the agent does not hold them")
    calls = [one for one in scene.calls()[before:] if one.startswith("POST")]
    assert calls == [], calls
    assert scene.is_sleeping()
    scene.control("/wake")
    for stream in streams:
        whole(stream.join(), 20)
    calls = [one for one in scene.calls()[before:] if one.startswith("POST")]
    assert calls == ["POST /wake_up 200", *["POST /v1/chat/completions 200"] * len(streams)], calls


def a_sleep_waits_for_the_stream_that_runs(scene: Scene) -> None:
    stream = scene.lasting(6)
    scene.control("/sleep?stay=true")
    assert scene.state in ("closing", "draining"), scene.control("/state")
    assert scene.ready(), "it is still ready"
    assert stream.running, "too short a stream to see anything"
    assert not any(one.startswith("POST /sleep") for one in scene.calls()[-1:])
    stream.join()
    assert (stream.answer.status, stream.whole, stream.finish) == (200, True, "length")
    scene.sleeps()
    scene.control("/wake")
    scene.reaches("awake")


def a_request_calls_off_a_sleep_that_waits(scene: Scene) -> None:
    stream = scene.lasting(6)
    scene.control("/sleep")
    assert scene.state in ("closing", "draining"), scene.control("/state")
    scene.served()
    assert scene.state == "awake"
    stream.join()
    assert stream.whole


def without_an_agent_nothing_passes_and_the_engine_is_alive(scene: Scene) -> None:
    """Leaves the pod without one."""
    scene.served()
    scene.kubelet.send(AGENT, signal.SIGTERM)
    code = scene.kubelet.ended(AGENT, 20)
    assert code == 0, f"the agent ends with {code}"
    refused = scene.stream(5).join().answer
    assert refused.status in (502, 503), refused
    assert not scene.ready()
    assert scene.kubelet.probe(ENGINE, "liveness").good


def an_agent_that_starts_again_takes_the_engine_over_as_it_is(scene: Scene) -> None:
    before = len(scene.calls())
    scene.kubelet.start(AGENT)
    until(scene.ready, "not ready with the agent back")
    scene.served()
    assert not [one for one in scene.calls()[before:] if "sleep?" in one], "it slept again"


CHECKS = (
    idle_it_falls_asleep_by_itself,
    asleep_it_is_ready_and_neither_models_nor_probes_wake_it,
    a_request_wakes_it,
    held_requests_reach_the_engine_once_it_is_awake_and_not_before,
    a_sleep_waits_for_the_stream_that_runs,
    a_request_calls_off_a_sleep_that_waits,
    without_an_agent_nothing_passes_and_the_engine_is_alive,
)
AGAIN = (an_agent_that_starts_again_takes_the_engine_over_as_it_is,)
"""After the engine has been asked what the stub assumes of it, without an agent."""
