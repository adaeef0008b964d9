"""What the engine's answers mean."""

import asyncio

import pytest

import engine_client
from engine_client import EngineClient, dechunked, meaning
from terms import Outcome, Step

METRICS = """\
# TYPE vllm:num_requests_running gauge
process_start_time_seconds 1.79e+09
vllm:num_requests_running{engine="0",model_name="m"} 2.0
vllm:num_requests_running{engine="1",model_name="m"} 1.0
vllm:num_requests_waiting{engine="0",model_name="m"} 4.0
vllm:num_requests_waiting_by_reason{engine="0",reason="capacity"} 9.0
vllm:engine_sleep_state{engine="0",sleep_state="awake"} 1.0
vllm:engine_sleep_state{engine="0",sleep_state="weights_offloaded"} 0.0
"""


def test_what_runs_and_waits_is_summed_over_all_engine_processes() -> None:
    assert meaning("count", 200, METRICS) == Outcome(ok=True, value=7.0, engine="1.79e+09")


def test_a_sleeper_says_so_in_its_metrics() -> None:
    asleep = METRICS.replace('awake"} 1.0', 'awake"} 0.0').replace('offloaded"} 0.0', 'offloaded"} 1.0')
    assert meaning("count", 200, asleep).sleeping


def test_metrics_without_these_gauges_are_not_taken_for_zero() -> None:
    assert meaning("count", 200, "python_info 1\n") == Outcome(ok=False, absent=True)


@pytest.mark.parametrize(
    ("status", "body", "expected"),
    [
        (200, '{"is_sleeping":true}', Outcome(ok=True, value=1.0)),
        (200, '{"is_sleeping":false}', Outcome(ok=True, value=0.0)),
        (200, '{"is_sleeping":"no"}', Outcome(ok=True, value=0.0)),
        (200, "[]", Outcome(ok=False)),
        (200, "", Outcome(ok=False)),
        (404, '{"detail":"Not Found"}', Outcome(ok=False, absent=True)),
        (500, "", Outcome(ok=False)),
    ],
)
def test_whether_it_sleeps(status: int, body: str, expected: Outcome) -> None:
    assert meaning("ask", status, body) == expected


def test_a_dead_engine_says_503() -> None:
    assert meaning("health", 503, "") == Outcome(ok=False, gone=True)
    assert meaning("health", 500, "") == Outcome(ok=False)
    assert meaning("wake", 503, "") == Outcome(ok=False)


def test_chunks_are_put_together() -> None:
    assert dechunked(b"3\r\nabc\r\nA;x=y\r\n0123456789\r\n0\r\n\r\n") == b"abc0123456789"
    with pytest.raises(ValueError, match="invalid literal"):
        dechunked(b"nonsense\r\n")


def ask(step: Step, answer: bytes, *, seconds: float = 10.0, hangs: bool = False) -> Outcome:
    """Return what a client makes of an engine that answers that, whatever it is asked."""

    async def engine(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(answer)
        if hangs:
            await reader.read()  # until the client has gone
        writer.close()

    async def asked() -> Outcome:
        server = await asyncio.start_server(engine, "127.0.0.1", 0)
        outcome = await EngineClient(server.sockets[0].getsockname()[1], {step: seconds}).perform(step)
        server.close()
        return outcome

    # not `asyncio.run`, which leaves a thread that has no loop for those who want one after it
    loop = asyncio.new_event_loop()
    try:
        return loop.run_until_complete(asked())
    finally:
        loop.close()


HEAD = b"HTTP/1.1 200 OK\r\n"
GARBAGE = {
    "an empty head": b"\r\n\r\n",
    "no status": b"HTTP/1.1\r\n\r\n",
    "a status that is no number": b"HTTP/1.1 fine\r\n\r\n",
    "a gauge that is no number": HEAD + b"\r\nvllm:num_requests_running x\n",
    "a gauge that is not a number": HEAD + b"\r\nvllm:num_requests_running nan\n",
    "more than all requests": HEAD + b"\r\nvllm:num_requests_running inf\n",
    "less than no request": HEAD + b"\r\nvllm:num_requests_running -1\nvllm:num_requests_waiting 1\n",
    "chunks that are none": HEAD + b"Transfer-Encoding: chunked\r\n\r\nnonsense\r\n",
    "a chunk that leads back to itself": HEAD + b"Transfer-Encoding: chunked\r\n\r\n-6\r\n",
    "a length of many digits": HEAD + b"Content-Length: " + b"9" * 5000 + b"\r\n\r\n",
    "a body that nothing means": HEAD + b"\r\n" + b"x" * 300_000,
    "a length that nothing means": HEAD + b"Content-Length: 300000\r\n\r\n" + b"x" * 300_000,
    "a head that nothing means": HEAD + b"x" * 300_000,
    "a list without end": HEAD + b"\r\n" + b"[" * 90_000,
}


@pytest.mark.parametrize("step", ["count", "ask"])
@pytest.mark.parametrize("answer", GARBAGE.values(), ids=GARBAGE)
def test_garbage_is_an_answer_like_others(monkeypatch: pytest.MonkeyPatch, step: Step, answer: bytes) -> None:
    """What it raised would end the agent, and everything that waits with it."""
    monkeypatch.setattr(engine_client, "_MOST", 100_000)
    no_gauges = step == "count" and answer == GARBAGE["a list without end"]
    assert ask(step, answer) == Outcome(ok=False, absent=no_gauges)


def test_only_an_engine_that_does_not_answer_is_silent() -> None:
    for step in ("health", "count", "ask", "sleep", "wake"):
        assert ask(step, HEAD, seconds=0.2, hangs=True) == Outcome(ok=False, silent=True)
        assert ask(step, HEAD) == Outcome(ok=False, silent=True), "it ends in the middle of its answer"
        assert ask(step, b"HTTP/1.1 500 Oh\r\n\r\n") == Outcome(ok=False)


def test_a_body_without_end_is_not_read_to_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """The agent's memory is limited."""
    monkeypatch.setattr(engine_client, "_MOST", 100_000)
    assert ask("count", HEAD + b"\r\n" + b"x" * 300_000, seconds=2.0, hangs=True) == Outcome(ok=False)


def test_a_body_without_a_length_ends_with_the_connection() -> None:
    assert ask("count", HEAD + b"\r\n" + METRICS.encode()) == Outcome(ok=True, value=7.0, engine="1.79e+09")
