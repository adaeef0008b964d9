"""Sleeping and waking behind the real nginx: what wakes, what does not, and what happens when the engine does not."""

import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable

from serving.front import WANTED_ANNOTATION
from tests.serving.front.calls import PATH, Client, check
from tests.serving.front.pod import TOKEN, Pod, until
from tests.serving.scripts import program

BEARER = {"Authorization": f"Bearer {TOKEN}"}


def alive(pod: Pod) -> subprocess.CompletedProcess[str]:
    """The engine's liveness probe."""
    command = [sys.executable, program("engine_alive"), str(pod.engine_port), str(pod.agent_folder / "unwakeable")]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=20)


def test_VLM_10_a_sleeping_server_is_woken_by_a_request_and_never_sees_one_in_its_sleep(
    pods: Callable[..., Pod],
) -> None:
    """A request that reaches a sleeping engine hangs or kills it (vllm#15483)."""
    pod = pods().start()
    assert pod.orders() == ["/sleep?level=1&mode=wait", "/wake_up"], "level and mode are said"
    pod.asleep()
    assert pod.get("/health")[0] == 200, "a sleeper is alive"
    assert pod.get("/ready")[0] == 200, "and ready: it wakes for whoever comes"
    client = Client(pod)
    for _ in range(20):
        client.call()
    assert all(call.complete for call in client.join())
    assert pod.orders()[2:] == ["/sleep?level=1&mode=wait", "/wake_up"], "once for all of them"
    check(pod, client.calls)


def test_VLM_10_level_2_is_refused(pods: Callable[..., Pod]) -> None:
    pod = pods().start()
    status, text = pod.get("/sleep?level=2", pod.control_port, "POST")
    error = "after a sleep of level 2 the engine answers 200 with garbage; level 1 is the only one"
    assert (status, json.loads(text)["error"]) == (400, error)
    assert json.loads(text)["state"] == "awake"


def test_idle_it_falls_asleep_and_what_is_no_request_leaves_it_so(pods: Callable[..., Pod]) -> None:
    pod = pods(idle=0.3).start()
    until(lambda: pod.state == "asleep")
    for path in ("/v1/models", "/health", "/metrics", "/ready", "/agent/metrics", "/front/alive"):
        assert pod.get(path, **BEARER)[0] == 200
    assert pod.get("/v1/models")[0] == 401
    assert pod.get("/tokenize", **BEARER)[0] == 404
    assert Client(pod).plain(path="/v2/chat").status == 404
    assert pod.state == "asleep"
    assert pod.orders().count("/wake_up") == 1


def test_a_body_that_trickles_in_over_5_seconds_wakes_nobody_before_it_is_there(pods: Callable[..., Pod]) -> None:
    pod = pods(idle=0.3).start()
    client = Client(pod)
    call = client.call(trickle=5.0)
    until(lambda: pod.state == "asleep")
    orders = len(pod.orders())
    time.sleep(3)
    assert (pod.state, len(pod.orders())) == ("asleep", orders)
    assert call.join().complete
    check(pod, client.calls)


def test_a_request_that_waits_too_long_gets_503_and_when_to_come_again(pods: Callable[..., Pod]) -> None:
    pod = pods(hold=1).start().asleep()
    pod.knobs(wake_up_seconds=2.5)
    client = Client(pod)
    call = client.plain()
    assert call.refused
    assert json.loads(call.body)["error"]["message"] == (
        "The server cannot take the request now: the engine did not wake in time."
    )
    assert call.headers["retry-after"] == "5"
    assert 0.9 < call.seconds < 2.4
    until(lambda: pod.state == "awake")
    assert client.plain().complete
    check(pod, client.calls)


def test_an_arbiter_s_sleeper_says_who_waits_and_wakes_when_it_is_told(pods: Callable[..., Pod]) -> None:
    """Several servers on one GPU: one decides, the others stay asleep although requests wait."""
    pod = pods().start()
    pod.control("/sleep?stay=true")
    until(lambda: pod.state == "asleep")
    client = Client(pod)
    call = client.call()
    until(lambda: pod.control("/state")["held"] == 1)
    time.sleep(0.3)
    assert pod.state == "asleep"
    pod.control("/wake")
    assert call.join().complete
    check(pod, client.calls)


def test_an_arbiter_s_sleeper_stays_asleep_when_its_agent_is_killed(pods: Callable[..., Pod]) -> None:
    """The GPU's memory is another server's by then."""
    pod = pods(hold=1).start()
    pod.control("/sleep?stay=true")
    until(lambda: pod.state == "asleep" and not pod.calls_pending())
    pod.kill("agent")
    pod.start_agent()
    until(lambda: pod.get("/ready")[0] == 200)
    client = Client(pod)
    assert client.plain().refused
    state = pod.control("/state")
    assert (state["state"], state["stay"], pod.orders().count("/wake_up")) == ("asleep", True, 1)
    pod.control("/wake")
    until(lambda: pod.state == "awake")
    assert client.plain().complete
    check(pod, client.calls)


def test_VLM_02_the_pod_of_an_engine_that_hangs_is_not_ready_until_it_answers_again(pods: Callable[..., Pod]) -> None:
    pod = pods(idle=3600).start()
    pod.kill("engine", signal.SIGSTOP)
    time.sleep(2)
    assert pod.get("/ready") == (200, "awake\n"), "a stall"
    until(lambda: pod.get("/ready") == (503, "awake: the engine has not answered for 1 s\n"))
    pod.kill("engine", signal.SIGCONT)
    until(lambda: pod.get("/ready") == (200, "awake\n"), seconds=10)
    assert Client(pod).plain().complete
    lines = pod.log.read_text().splitlines()
    assert "awake: the engine has not answered for 1 s" in lines
    assert lines.count("awake") == 2


def test_an_engine_that_answers_garbage_is_survived(pods: Callable[..., Pod]) -> None:
    pod = pods(drain=1).start()
    pod.knobs(metrics_raw="HTTP/1.1 200 OK\r\n\r\nvllm:num_requests_running x\n", is_sleeping_raw="\r\n\r\n")
    call = Client(pod).call(seconds=0.6)  # long enough to be looked at
    assert call.join().complete
    pod.control("/sleep?stay=true")
    until(lambda: pod.control("/state")["problem"] == "0 requests did not end within 1 s")
    pod.knobs(health_raw="\r\n\r\n")
    until(lambda: pod.get("/ready")[0] == 503)
    assert pod.processes["agent"].poll() is None
    assert Client(pod).plain().complete


def test_an_engine_that_does_not_wake_is_marked_for_its_liveness_probe_until_it_has_restarted(
    pods: Callable[..., Pod],
) -> None:
    pod = pods(**{"wake-limit": 0.5}).start().asleep()
    assert alive(pod).returncode == 0
    pod.knobs(wake_up_seconds=60)
    call = Client(pod).plain()
    assert call.refused
    assert pod.state == "failed"
    assert pod.get("/ready") == (503, "failed\n")
    done = alive(pod)
    assert (done.returncode, done.stderr) == (1, "not alive: the engine did not wake within 0.5 s\n")
    pod.kill("engine")
    until(lambda: pod.state == "starting")
    assert not (pod.agent_folder / "unwakeable").exists()
    pod.start_engine()
    until(lambda: pod.get("/ready")[0] == 200)
    assert Client(pod).plain().complete


def test_an_engine_that_answers_and_stays_asleep_is_failed(pods: Callable[..., Pod]) -> None:
    pod = pods(**{"wake-limit": 0.5}).start().asleep()
    pod.knobs(wake_up_lies=True)
    client = Client(pod)
    assert client.plain().refused
    assert pod.state == "failed"
    check(pod, client.calls)


def test_an_engine_that_answers_and_does_not_fall_asleep_goes_on_serving(pods: Callable[..., Pod]) -> None:
    pod = pods().start()
    pod.knobs(sleep_lies=True)
    pod.control("/sleep")
    until(lambda: pod.control("/state")["problem"] == "the engine did not fall asleep")
    assert Client(pod).plain().complete


def test_an_engine_that_fails_to_sleep_is_woken_before_it_serves_again(pods: Callable[..., Pod]) -> None:
    pod = pods().start()
    pod.knobs(sleep_status=500)
    pod.control("/sleep")
    until(lambda: pod.orders()[2:] == ["/sleep?level=1&mode=wait", "/wake_up"])
    assert Client(pod).plain().complete


def test_whoever_put_the_engine_to_sleep_behind_the_agent_s_back_strands_nobody(pods: Callable[..., Pod]) -> None:
    pod = pods().start()
    pod.get("/sleep?level=1", pod.engine_port, "POST")
    assert Client(pod).plain().complete


def test_a_request_whose_end_is_lost_does_not_keep_the_server_awake(pods: Callable[..., Pod]) -> None:
    pod = pods(idle=0.3).start()
    pod.get("/gate", pod.gate_port, **{"X-Request-Id": "lost"})
    assert pod.control("/state")["inFlight"] == 1
    until(lambda: pod.state == "asleep")
    assert "vllm_eks_agent_requests_lost_total 1\n" in pod.get("/agent/metrics")[1]


def test_a_request_that_the_engine_still_runs_is_never_taken_for_lost(pods: Callable[..., Pod]) -> None:
    pod = pods(idle=0.3, lost=0.3).start()
    call = Client(pod).call(seconds=3)
    time.sleep(2)
    assert pod.control("/state")["inFlight"] == 1
    assert call.join().complete


def test_hundreds_of_requests_that_end_in_one_moment_are_all_counted(pods: Callable[..., Pod]) -> None:
    """A Unix socket would keep ten of their datagrams (net.unix.max_dgram_qlen)."""
    pod = pods(lost=60).start()
    client = Client(pod)
    for _ in range(200):
        client.stream(tokens=1000, seconds=1)
    until(lambda: pod.control("/state")["inFlight"] == 200)
    pod.kill("nginx")
    pod.kill("engine")
    until(lambda: pod.control("/state")["inFlight"] == 0, seconds=5)
    for call in client.calls:
        call.thread.join(10)


def test_without_an_agent_nothing_passes(pods: Callable[..., Pod]) -> None:
    """Nobody knows whether the engine sleeps."""
    pod = pods().start()
    pod.kill("agent")
    client = Client(pod)
    assert client.plain().refused
    assert pod.get("/ready")[0] == 502
    check(pod, client.calls)


def test_the_agent_s_numbers(pods: Callable[..., Pod]) -> None:
    pod = pods().start().asleep()
    Client(pod).plain()
    pod.asleep()
    time.sleep(0.2)
    lines = dict(line.rsplit(" ", 1) for line in pod.get("/agent/metrics")[1].splitlines() if line[0] != "#")
    assert float(lines["vllm_eks_agent_wakes_total"]) == 1
    assert float(lines["vllm_eks_agent_asleep_seconds_total"]) >= 0.2
    assert 0 < float(lines["vllm_eks_agent_wake_seconds_total"]) < 5
    states = {name: value for name, value in lines.items() if name.startswith("vllm_eks_agent_state")}
    assert [name for name, value in states.items() if value == "1"] == ['vllm_eks_agent_state{state="asleep"}']
    assert len(states) == 8


def test_orders_that_are_none_say_what_is_expected(pods: Callable[..., Pod]) -> None:
    pod = pods().start()
    status, text = pod.get("/sleep", pod.control_port)
    assert (status, json.loads(text)["error"]) == (405, "expected POST /sleep")
    status, text = pod.get("/rest", pod.control_port)
    assert (status, json.loads(text)["error"]) == (404, "expected /state, /sleep, /wake or /stop")


def test_preStop_tells_the_agent_and_waits_and_waits_as_long_when_it_is_gone(pods: Callable[..., Pod]) -> None:
    pod = pods().start()
    command = [sys.executable, program("agent_stop"), str(pod.control_port), "1"]
    began = time.monotonic()
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=20)
    assert (done.returncode, done.stderr) == (0, "")
    assert time.monotonic() - began >= 1
    assert pod.state == "stopping"
    assert pod.get("/ready") == (503, "stopping\n")
    pod.kill("agent")
    began = time.monotonic()
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=20)
    assert done.returncode == 0
    assert done.stderr.startswith("the agent was not told: ConnectionRefusedError")
    assert time.monotonic() - began >= 1


def test_the_agent_s_own_probe_asks_about_the_agent_alone(pods: Callable[..., Pod]) -> None:
    pod = pods()
    command = [sys.executable, program("agent_alive"), str(pod.control_port)]
    assert subprocess.run(command, check=False, capture_output=True).returncode == 1
    pod.start_agent()  # and no engine
    until(lambda: subprocess.run(command, check=False, capture_output=True).returncode == 0)


def test_the_wanted_state_is_named_like_everything_else_of_the_stack() -> None:
    assert WANTED_ANNOTATION.startswith("vllm-eks/")
    assert PATH.startswith("/v1/")
