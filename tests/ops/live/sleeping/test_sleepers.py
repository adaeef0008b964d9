"""`ops try` and `ops status` of servers that sleep: real agents and nginx, through a real API server."""

import json

import pytest

from ops.live import bearer, trial
from tests.ops.live.stand import until
from tests.serving.front.calls import Client


@pytest.fixture(autouse=True)
def no_token(monkeypatch):
    monkeypatch.delenv(bearer.VARIABLE, raising=False)


@pytest.fixture
def run(ops, stand):
    return lambda what, *more: ops(what, "--server", "gemma", "--kubeconfig", stand.players.kubeconfig, *more)


def test_a_server_behind_its_proxy_answers_to_the_token_of_its_Secret(run, sleeper):
    sleeper()
    code, out, _ = run("try", "--max-tokens", "4")
    assert (code, out.partition("\n")[0]) == (0, "word0 word1 word2 word3 ")
    assert "4 tokens, finish_reason length, pod gemma-0\n" in out


def test_a_sleeper_wakes_for_it_and_that_is_said(run, sleeper):
    pod = sleeper().asleep()
    pod.knobs(wake_up_seconds=0.2)
    code, out, err = run("try", "--max-tokens", "2")
    assert (code, pod.state) == (0, "awake")
    assert "servers.gemma: pod gemma-0 is asleep and wakes (" in err
    assert ", was asleep, woke in 0." in out
    pod.asleep()
    found = json.loads(run("try", "--json")[1])
    assert (found["asleep"], 0.2 <= found["wakeSeconds"] <= found["firstTokenSeconds"]) == (True, True)


def test_a_sleeper_that_is_to_stay_so_is_not_asked(run, sleeper):
    pod = sleeper()
    pod.control("/sleep?stay=true")
    until(lambda: pod.state == "asleep")
    code, out, err = run("try")
    assert (code, out, pod.state) == (1, "", "asleep")
    assert err == (
        "servers.gemma: pod gemma-0 is asleep and no request wakes it: .venv/bin/python -m ops wake --server gemma\n"
    )


def test_a_sleeping_engine_is_never_asked_past_its_agent(run, sleeper, monkeypatch):
    """It would wait for ever, or be ended as an empty success by the next sleep."""
    monkeypatch.setattr(trial, "SILENT", 0.5)
    sleeper().asleep()
    assert run("try", "--direct") == (
        1,
        "",
        "servers.gemma: pod gemma-0 is asleep, and --direct passes by who would wake it: without, it wakes\n",
    )


def test_direct_asks_an_engine_that_is_awake(run, sleeper):
    pod = sleeper()
    assert run("try", "--direct", "--max-tokens", "1")[0] == 0
    until(lambda: pod.recorded()[-1]["event"] == "done")  # the client has its answer before the engine writes it down
    assert pod.state == "awake"


def test_an_engine_that_does_not_wake_is_503_and_why(run, sleeper):
    pod = sleeper(**{"wake-limit": 0.3}).asleep()
    pod.knobs(wake_up_lies=True)
    code, out, err = run("try")
    assert (code, out) == (3, "")
    assert err.splitlines()[-1] == (
        "servers.gemma: 503: The server cannot take the request now: the engine does not wake; it may be asked again"
        " in 60 s"
    )


def test_status_says_since_when_it_sleeps_and_that_requests_wait(run, sleeper):
    pod = sleeper()
    pod.control("/sleep?stay=true")
    until(lambda: pod.state == "asleep")
    waits = Client(pod).call()
    until(lambda: pod.control("/state")["held"] == 1)
    code, out, err = run("status", "--check", "--json")
    (found,) = json.loads(out)
    assert (found["state"], found["held"], found["running"], found["waiting"]) == ("asleep", 1, 0, 0)
    assert (0 <= found["stateSeconds"] < 10, found["unseen"]) == (True, [])
    assert code == 1
    assert err.splitlines()[-1] == (
        "servers.gemma: pod gemma-0 sleeps and 1 request waits: .venv/bin/python -m ops wake --server gemma"
    )
    assert run("wake", "--yes")[0] == 0
    assert waits.join().status == 200
    code, out, err = run("status", "--check")
    assert (code, "  ready " in out, "0/0/0" in out) == (0, True, True)


def test_an_agent_that_does_not_answer_is_a_doubt_and_the_rest_is_shown(run, sleeper):
    pod = sleeper()
    pod.kill("agent")
    code, out, err = run("status", "--check")
    assert code == 3
    assert "  0/0/-  " in out
    assert "cannot tell: its agent: pod " in err
    assert run("status")[0] == 0
