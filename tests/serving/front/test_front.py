"""The real nginx in front of the stub engine: who may call what, and how requests and answers pass through."""

import http.client
import json
import os
import signal
import statistics
import time
from collections.abc import Callable, Iterator

import pytest

from serving.front.tokens import token_map
from tests.serving.front.calls import PATH, Client, raw, status
from tests.serving.front.pod import OTHER, TOKEN, Pod, until

BEARER = {"Authorization": f"Bearer {TOKEN}"}


@pytest.fixture(params=[True, False], ids=["with the agent", "alone"])
def pod(request: pytest.FixtureRequest, pods: Callable[..., Pod]) -> Pod:
    return pods(sleeps=request.param).start()


def test_a_request_without_a_valid_token_is_refused_before_anything_else(pod: Pod) -> None:
    """Also before its path, its size and its body are looked at."""
    wrong = [
        {},
        {"Authorization": TOKEN},
        {"Authorization": f"Basic {TOKEN}"},
        {"Authorization": f"Bearer {TOKEN}x"},
        {"Authorization": f"Bearer x{TOKEN}"},
        {"Authorization": f"Bearer {TOKEN[:-1]}"},
        {"Authorization": f"Bearer {TOKEN.lower()}"},  # a map's plain strings would not see the difference
        {"Authorization": f"Bearer {TOKEN} {TOKEN}"},
        {"Authorization": f"Bearer {OTHER}"},
        {"Authorization": "Bearer "},
    ]
    for headers in wrong:
        for path in ("/v1/models", "/v1/chat/completions", "/tokenize", "/", "/sleep"):
            status, text = pod.get(path, **headers)
            assert status == 401, (path, headers)
            assert json.loads(text)["error"] == {
                "message": "A valid bearer token is required.",
                "type": "invalid_request_error",
                "param": None,
                "code": 401,
            }
    assert raw(pod, b"POST /v1/x HTTP/1.1\r\nHost: x\r\nContent-Length: 999999999999\r\n\r\n").startswith(
        b"HTTP/1.1 401"
    )
    assert pod.get("/v1/models", **BEARER)[0] == 200
    assert pod.get("/v1/models", Authorization=f"bearer {TOKEN}")[0] == 200, "the scheme has no case (RFC 7235)"


def test_the_token_does_not_reach_the_engine(pod: Pod) -> None:
    assert json.loads(pod.get("/v1/models", **BEARER)[1])["authorization"] is None


def test_probes_and_prometheus_have_no_token(pod: Pod) -> None:
    paths = ["/health", "/metrics", "/front/alive", *(["/ready", "/agent/metrics"] if pod.sleeps else [])]
    assert [pod.get(path)[0] for path in paths] == [200] * len(paths)


@pytest.mark.parametrize("method", ["GET", "POST"])
def test_nothing_but_v1_reaches_the_engine(pod: Pod, method: str) -> None:
    """With its own key vLLM leaves these open (gpu.md 0.8, 9); some of them run completions, or freeze it (0.9)."""
    pod.record.write_text("")
    refused = [
        *("/tokenize", "/detokenize", "/invocations", "/ping", "/version", "/load", "/docs", "/openapi.json"),
        *("/sleep", "/wake_up", "/is_sleeping", "/collective_rpc", "/server_info", "/pause", "/reset_prefix_cache"),
        *("/update_weights", "/inference/v1/generate", "/v2/x", "/", "/v1", "/v1/", "/V1/models", "/gate"),
        *("/front/error-400", "/front/x"),
        *("//v1/models", "/v1//models", "/./v1/models", "/v1/./models", "/v1/../sleep", "/sleep/../v1/models"),
        *("/%73leep", "/v1/%2e%2e/sleep", "/v1/..%2fsleep", "/v1%2f..%2fsleep", "/%76%31/models", "/v1/models%00"),
        *(
            "/v1/models#x",
            "/v1/.hidden",
            "/v1/models/",
            "/sleep?/v1/models",
            "/sleep%3f/../v1/models",
            "/v1/a;b",
            "/v1\\x",
        ),
    ]
    for path in refused:
        lines = [f"{method} {path} HTTP/1.1", "Host: x", f"Authorization: Bearer {TOKEN}", "Content-Length: 0"]
        status = int(raw(pod, "\r\n".join([*lines, "Connection: close", "", ""]).encode()).split()[1])
        assert status in (400, 404), (path, status)
    asked = {one["path"] for one in pod.recorded() if one["event"] == "call"}
    # the agent's own questions
    assert asked <= {"/health", "/metrics", "/is_sleeping"}


def test_a_wide_open_server_still_knows_only_its_paths(pods: Callable[..., Pod]) -> None:
    pod = pods(token=False).start()
    assert pod.get("/v1/models")[0] == 200
    assert pod.get("/tokenize")[0] == 404


def test_a_stream_arrives_token_by_token(pod: Pod) -> None:
    call = Client(pod).stream(tokens=60, seconds=0.1).join()
    assert call.complete
    assert len(call.arrivals) == 60
    # of all, not of each: the machine is shared, and may stand still for a second
    assert statistics.median(call.arrivals) < 0.05, "tokens come with the next one"
    assert call.seconds > 5.5


def test_a_body_of_20_megabytes_passes_and_a_larger_one_than_allowed_does_not(pods: Callable[..., Pod]) -> None:
    pod = pods(front={"maxBodyMib": 21}).start()
    client = Client(pod)
    call = client.plain(padding="x" * 20_000_000)
    assert call.complete
    assert json.loads(call.body)["bytes"] > 20_000_000
    assert client.plain(padding="x" * 23_000_000).status == 413


def test_a_large_body_that_is_refused_gets_its_answer(pods: Callable[..., Pod]) -> None:
    pod = pods(hold=1).start().asleep()
    pod.knobs(wake_up_seconds=3)
    call = Client(pod).plain(padding="x" * 20_000_000)
    assert call.refused, call.body[:300]


def test_what_the_engine_says_is_passed_on_as_it_is(pod: Pod) -> None:
    assert pod.get("/v1/nothing", method="POST", **BEARER) == (404, '{"from": "engine"}')


def test_errors_of_its_own_read_like_openai_s(pod: Pod) -> None:
    pod.kill("engine")
    call = Client(pod).plain()
    assert call.status in (502, 503)
    assert set(json.loads(call.body)["error"]) == {"message", "type", "param", "code"}
    assert json.loads(call.body)["error"]["code"] == call.status
    assert call.headers["retry-after"].isdecimal()
    assert call.headers["content-type"] == "application/json"


def test_one_connection_serves_many_requests_also_when_the_engine_closes_idle_ones(pod: Pod) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", pod.port, timeout=10)
    for number in range(50):
        connection.request("POST", PATH, json.dumps({"id": f"k{number}"}), BEARER)
        answer = connection.getresponse()
        assert (answer.status, json.loads(answer.read())["id"]) == (200, f"k{number}")
    connection.close()


def test_a_body_without_a_length_passes(pod: Pod) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", pod.port, timeout=10)

    def pieces() -> Iterator[bytes]:
        for letter in b'{"id": "chunked"}':
            yield bytes([letter])

    connection.request("POST", PATH, pieces(), {**BEARER, "Transfer-Encoding": "chunked"}, encode_chunked=True)
    assert connection.getresponse().status == 200
    connection.close()


def test_the_engine_is_told_when_a_client_has_gone(pod: Pod) -> None:
    Client(pod).stream(tokens=400, seconds=0.05, leave=0.2).join()
    until(lambda: 'running{engine="0"} 0.0' in pod.get("/metrics")[1], "the engine still works for nobody", 5)


def test_the_log_holds_no_token_no_query_and_no_body(pod: Pod) -> None:
    Client(pod).plain(word="in-the-body", path=f"{PATH}?word=in-the-query")
    until(lambda: PATH in pod.log.read_text())
    text = pod.log.read_text()
    for secret in (TOKEN, "in-the-body", "in-the-query"):
        assert secret not in text


@pytest.mark.parametrize("fault", ["no engine", "no agent", "no room for bodies", "no inner socket"])
def test_no_error_in_the_log_holds_what_was_asked(pods: Callable[..., Pod], fault: str) -> None:
    """Beside its errors nginx writes the request and the referrer: of clients whose keys stand in the query."""
    pod = pods().start()
    if fault in ("no engine", "no agent"):
        pod.kill(fault.removeprefix("no "))
    elif fault == "no inner socket":
        (pod.folder / "front/inner.sock").unlink()
    else:
        (pod.folder / "front/client_body").rmdir()
    headers = {"Referer": "http://in-the-referrer", **BEARER, "Content-Length": "300000"}
    for path in (f"{PATH}?key=in-the-query", "/v1/models?key=in-the-query", "/health?key=in-the-query"):
        lines = [f"POST {path} HTTP/1.1", "Host: in-the-host", *(f"{n}: {v}" for n, v in headers.items())]
        raw(pod, "\r\n".join([*lines, "Connection: close", "", "x" * 300_000]).encode())
    assert raw(pod, b"GET /health?key=in-the-query HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
    # too large a body, where nothing is sent on
    announced = f"Authorization: Bearer {TOKEN}\r\nContent-Length: 99999999\r\n"
    assert status(pod, "POST /x?key=in-the-query", announced) == 413
    until(lambda: PATH in pod.log.read_text())
    assert "in-the-" not in pod.log.read_text()


def test_a_token_that_is_renewed_in_place_counts_at_once_and_cuts_nothing(pod: Pod) -> None:
    client = Client(pod)
    stream = client.stream(tokens=60, seconds=0.05)
    new = pod.folder / "new"
    new.write_text(token_map([OTHER]))
    new.replace(pod.tokens)
    until(lambda: pod.get("/v1/models", Authorization=f"Bearer {OTHER}")[0] == 200, "the new token is not read")
    until(lambda: pod.get("/v1/models", **BEARER)[0] == 401, "the old token still counts")
    assert stream.join().complete


def test_a_file_of_tokens_that_cannot_be_read_leaves_the_old_ones(pod: Pod) -> None:
    pod.tokens.write_text('"broken')
    until(lambda: "[emerg]" in pod.log.read_text())
    assert pod.get("/v1/models", **BEARER)[0] == 200
    pod.tokens.write_text(token_map([TOKEN, OTHER]))
    until(lambda: pod.get("/v1/models", Authorization=f"Bearer {OTHER}")[0] == 200)
    assert pod.get("/v1/models", **BEARER)[0] == 200


@pytest.mark.parametrize("order", [signal.SIGTERM, signal.SIGQUIT])
def test_an_ordered_stop_lets_requests_end(pod: Pod, order: signal.Signals) -> None:
    stream = Client(pod).stream(tokens=20, seconds=0.05)
    time.sleep(0.2)
    pod.kill("nginx", order)
    assert pod.processes["nginx"].wait(60) == 0
    assert stream.join().complete


def test_the_container_ends_when_nginx_does(pod: Pod) -> None:
    os.kill(int((pod.folder / "front/nginx.pid").read_text()), signal.SIGKILL)
    assert pod.processes["nginx"].wait(60) != 0


def test_it_starts_again_over_what_a_killed_one_left_behind(pod: Pod) -> None:
    # the whole group: in a container nothing outlives its first process
    os.killpg(pod.processes["nginx"].pid, signal.SIGKILL)
    until(lambda: pod.get("/front/alive")[0] == 0)
    assert (pod.folder / "front/inner.sock").exists() == pod.sleeps
    pod.start_nginx()
    until(lambda: pod.get("/v1/models", **BEARER)[0] == 200, "nginx does not start")


def test_a_request_that_cannot_be_read_gets_an_error_that_reads_like_openai_s_too(pod: Pod) -> None:
    long = b"x" * 20_000
    for head in (b"GET /%00 HTTP/1.1\r\nHost: x", b"GET /v1/x HTTP/1.1\r\nHost: x\r\nX: " + long):
        answer = raw(pod, head + b"\r\n\r\n")
        assert answer.startswith(b"HTTP/1.1 400"), answer
        assert json.loads(answer.partition(b"\r\n\r\n")[2])["error"]["code"] == 400
    assert raw(pod, b"GET /" + long + b" HTTP/1.1\r\nHost: x\r\n\r\n").startswith(b"HTTP/1.1 414")
