"""From the first sidecar to the first token: probes, the token, the paths, and how an answer passes through."""

import json
import time

from serving.engine import ROOT
from serving.front import ALIVE_PATH, METRICS_PATH, READY_PATH
from serving.front.containers import PROXY
from serving.pod import CACHE
from tests.engine_check.client import CHAT, asked, call, until
from tests.engine_check.pod.rendered import TOKEN
from tests.engine_check.scene import BEARER, ENGINE, SIDECARS, Scene, whole

OTHERS = ("/tokenize", "/invocations", "/is_sleeping", "/version", "/ping", "/openapi.json")
"""Paths that the engine has."""


def sidecars_start_before_the_engine(scene: Scene) -> None:
    for name in SIDECARS:
        scene.kubelet.start(name)
        until(lambda name=name: scene.kubelet.probe(name, "startup").good, f"the startup probe of {name} fails")
        assert scene.kubelet.probe(name, "liveness").good, f"the liveness probe of {name} fails"


def without_an_engine_the_pod_is_not_ready_and_answers_503_with_retry_after(scene: Scene) -> None:
    until(lambda: scene.control("/state")["state"] == "starting", "the agent does not say starting")
    until(lambda: scene.stream(5).join().answer.status == 503, "a request waits for an engine that is not there")
    refusal = scene.get(CHAT, "POST", asked(5, stream=True), **BEARER)
    assert refusal.later, refusal
    message = json.loads(refusal.body)["error"]["message"]
    assert message == "The server cannot take the request now: the engine is starting.", message
    ready = scene.kubelet.probe(PROXY, "readiness")
    assert (ready.good, ready.said) == (False, "503 starting"), ready
    for kind, word in (("startup", "not ready: ConnectionRefusedError"), ("liveness", "not alive: ConnectionRefused")):
        probe = scene.kubelet.probe(ENGINE, kind)
        assert not probe.good, kind
        assert probe.said.startswith(word), probe.said


def started(scene: Scene) -> None:
    """Wait for an engine that has been started, asking as kubelet does; it must never be ready before it has slept."""
    before = len(scene.calls())
    while not scene.kubelet.probe(ENGINE, "startup").good:
        assert scene.kubelet.processes[ENGINE].poll() is None, scene.kubelet.log(ENGINE).read_text()[-3000:]
        assert not scene.ready(), "ready before the engine is"
        time.sleep(1)
    until(scene.ready, "the engine is there, and the pod is not ready")
    calls = [one for one in scene.calls()[before:] if one.startswith("POST ")]
    assert calls[:2] == ["POST /sleep?level=1&mode=wait 200", "POST /wake_up 200"], calls


def the_engine_starts_below_the_wrapper_and_sleeps_once_before_it_is_ready(scene: Scene) -> None:
    marks = scene.scratch.volume(CACHE)
    until(lambda: list(marks.rglob(".starting-*")), "the wrapper writes no mark")
    started(scene)
    assert not list(marks.rglob(".starting-*")), "the startup probe has not removed the mark"
    assert list(marks.rglob(".ready")), f"no word of it below {ROOT}"


def all_probes_of_a_pod_that_serves_pass(scene: Scene) -> None:
    for name, kind in (
        *((ENGINE, kind) for kind in ("startup", "liveness")),
        *((name, kind) for name in SIDECARS for kind in ("startup", "liveness")),
        (PROXY, "readiness"),
    ):
        probe = scene.kubelet.probe(name, kind)
        assert probe.good, f"{kind} of {name}: {probe.said}"
    for path in ("/health", "/metrics", READY_PATH, METRICS_PATH, ALIVE_PATH):
        assert scene.get(path).status == 200, path


def without_a_valid_token_nothing_reaches_the_engine(scene: Scene) -> None:
    before = scene.calls()
    for token in ("", f"Bearer {TOKEN}x", f"Bearer {TOKEN.lower()}", f"Basic {TOKEN}"):
        for path, method in (("/v1/models", "GET"), (CHAT, "POST"), ("/tokenize", "POST"), ("/sleep", "POST")):
            answer = scene.get(path, method, asked(5, stream=False), Authorization=token)
            assert answer.status == 401, (path, token, answer.status)
            assert json.loads(answer.body)["error"]["message"] == "A valid bearer token is required."
    assert scene.get("/v1/models", **BEARER).status == 200
    assert scene.calls()[len(before) :] == ["GET /v1/models 200"]


def no_other_path_reaches_the_engine(scene: Scene) -> None:
    directly = [path for path in OTHERS if call(scene.engine, path, "GET").status in (200, 405)]
    assert directly == list(OTHERS), f"the engine itself does not have {set(OTHERS) - set(directly)}"
    before = scene.calls()
    spellings = (
        "/sleep",
        "/collective_rpc",
        "/v1/../sleep",
        "/v1/%2e%2e/sleep",
        "//v1/models",
        "/v1//models",
        "/V1/models",
    )
    for path in (*OTHERS, *spellings, "/v1", "/v1/", "/v1%2fmodels", "/health/", "/metrics/../sleep"):
        for method in ("GET", "POST"):
            status = scene.get(path, method, **BEARER).status
            assert status == 404, (method, path, status)
    assert scene.calls() == before


def a_stream_arrives_token_by_token(scene: Scene) -> None:
    """While the engine is stopped in the middle, the client has all that it had made: nothing waits in a buffer.

    The time between two tokens would tell nothing: the engine's threads spin, and on two cores a client comes late.
    """
    scene.served()
    tokens, began = 100, time.monotonic()
    whole(scene.stream(tokens).join(), tokens)
    scene.rate = tokens / (time.monotonic() - began)
    before = made(scene)
    stream = scene.lasting(30)
    for pause in range(1, 4):
        until(lambda pause=pause: not stream.running or made(scene) - before > 30 * pause, "no tokens")
        with scene.kubelet.stopped(ENGINE, "VLLM::EngineCore"):
            assert stream.running, "too short a stream to see anything"
            try:
                until(lambda: stream.counted >= made(scene) - before, "", 20)
            except AssertionError:
                raise AssertionError(f"of {made(scene) - before:g} tokens {stream.counted} arrived") from None
    stream.leave()


def an_answer_without_streaming_passes(scene: Scene) -> None:
    answer = scene.get(CHAT, "POST", asked(50, stream=False), **BEARER)
    assert answer.status == 200, answer
    assert json.loads(answer.body)["usage"]["completion_tokens"] == 50


def an_error_of_the_engine_passes_as_it_is(scene: Scene) -> None:
    wrong = {"messages": "none"}
    proxied, direct = scene.get(CHAT, "POST", wrong, **BEARER), call(scene.engine, CHAT, "POST", wrong)
    assert (proxied.status, proxied.body) == (direct.status, direct.body)
    assert proxied.status == 400, proxied


def a_client_that_goes_ends_its_request_in_engine_and_agent(scene: Scene) -> None:
    seconds = 30
    stream = scene.lasting(seconds)
    until(lambda: scene.control("/state")["inFlight"] == 1, "the agent does not count what runs")
    left = time.monotonic()
    stream.leave()
    until(lambda: scene.control("/state")["inFlight"] == 0, "the agent counts a request whose client is gone")
    told = time.monotonic() - left
    until(lambda: running(scene) == 0, "the engine runs a request whose client is gone")
    ended = time.monotonic() - left
    assert ended < seconds / 2, f"the agent knew after {told:.1f} s, the engine after {ended:.1f} s"


def running(scene: Scene) -> float:
    """Return how many requests the engine says that it runs."""
    return _metric(scene, "vllm:num_requests_running")


def made(scene: Scene) -> float:
    """Return how many tokens the engine says that it has made."""
    return _metric(scene, "vllm:generation_tokens_total")


def _metric(scene: Scene, name: str) -> float:
    answer = call(scene.engine, "/metrics")
    lines = [line for line in answer.body.split("\n") if line.startswith(f"{name}{{")]
    assert len(lines) == 1, f"/metrics answers {answer.status} with {len(lines)} lines of {name}: {answer.body[:200]}"
    return float(lines[0].split()[-1])


CHECKS = (
    sidecars_start_before_the_engine,
    without_an_engine_the_pod_is_not_ready_and_answers_503_with_retry_after,
)
BEHIND = (
    the_engine_starts_below_the_wrapper_and_sleeps_once_before_it_is_ready,
    all_probes_of_a_pod_that_serves_pass,
    without_a_valid_token_nothing_reaches_the_engine,
    no_other_path_reaches_the_engine,
    a_stream_arrives_token_by_token,
    an_answer_without_streaming_passes,
    an_error_of_the_engine_passes_as_it_is,
    a_client_that_goes_ends_its_request_in_engine_and_agent,
)
"""When the engine has been started."""
