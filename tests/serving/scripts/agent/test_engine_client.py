"""What the engine's answers mean."""

import pytest

from engine_client import dechunked, meaning
from terms import Outcome

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
