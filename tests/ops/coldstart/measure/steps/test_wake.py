"""A wake, through an agent that is played: it is put back what was provoked, and never called a wake what was none."""

from __future__ import annotations

from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from types import SimpleNamespace

import pytest

from ops.coldstart.measure import run as whole_run
from ops.coldstart.measure.provoke import wake
from ops.coldstart.measure.provoke.wake import Wake
from ops.coldstart.measure.put_back import PutBack
from ops.coldstart.record import Subject
from ops.failures import RefusedError, UnclearError


class Agent:
    """Goes through the states that an order leads to, one with each look."""

    def __init__(self, state="awake", *, sleeps=("draining", "asleep"), wakes=("waking", "awake")):
        self.now, self.problem = state, ""
        self.sleeps, self.wakes = sleeps, wakes
        self.next: list[str] = []
        self.orders: list[str] = []
        self.stay = False
        self.count = 0
        self.fails = 0
        """Which call fails, after it was done."""

    def looked(self):
        self.count += 1
        if self.count == self.fails:
            raise UnclearError("the port does not answer")

    @contextmanager
    def __call__(self, pod):
        assert pod == "p"
        yield self

    def state(self):
        self.looked()
        said = {"state": self.now, "lastWakeSeconds": 0.031, "inFlight": 2, "problem": self.problem, "stay": self.stay}
        if self.next:
            self.now = self.next.pop(0)
        return said

    def sleep(self, *, stay=False):
        assert not stay
        self.orders.append("sleep")
        self.next = [] if self.now == "asleep" else list(self.sleeps)
        self.looked()

    def wake(self):
        self.orders.append("wake")
        self.next = [] if self.now == "awake" else list(self.wakes)
        self.looked()


@pytest.fixture(autouse=True)
def fast(monkeypatch):
    monkeypatch.setattr(wake, "LOOK", 0.02)


def measured(agent, *, drain=1):
    settings = SimpleNamespace(sleep=SimpleNamespace(drain_seconds=drain))
    stack = SimpleNamespace(name="dev")
    target = SimpleNamespace(namespace="n", server=SimpleNamespace(name="gemma", settings=settings, stack=stack))
    plan = Wake(target=target, pod={"metadata": {"name": "p"}}, agent=agent)
    with PutBack() as back:
        return plan.measured(back, lambda _: None)


def test_a_wake_is_the_agents_own_figure_within_what_was_waited(capsys):
    agent = Agent()
    woken = measured(agent)
    assert woken.wake == 0.031
    assert 0.031 <= woken.total < 1.0
    assert agent.orders == ["sleep", "wake"]
    assert capsys.readouterr().err == ""


def test_a_server_that_slept_before_sleeps_again(capsys):
    agent = Agent("asleep")
    measured(agent)
    assert agent.orders == ["sleep", "wake", "sleep"]
    assert capsys.readouterr().err == "put back: pod p asleep\n"


def test_a_request_that_comes_in_between_leaves_it_awake(capsys):
    agent = Agent(sleeps=("draining", "awake"))
    with pytest.raises(RefusedError) as caught:
        measured(agent)
    assert str(caught.value) == "pod p: did not fall asleep: it is awake, with 2 requests"
    assert agent.orders == ["sleep", "wake"]
    assert capsys.readouterr().err == "put back: pod p awake\n"


def test_a_server_that_somebody_else_woke_is_no_wake():
    with pytest.raises(UnclearError) as caught:
        measured(Agent(sleeps=("asleep", "awake")))
    assert str(caught.value) == "pod p: a request woke it before the order did"


def test_a_server_that_does_not_wake_is_told_with_its_problem():
    agent = Agent(wakes=("waking", "failed"))
    agent.problem = "the engine does not wake"
    with pytest.raises(UnclearError) as caught:
        measured(agent)
    assert str(caught.value) == "pod p: does not wake: the engine does not wake"


def test_ctrl_c_while_it_sleeps_wakes_it(capsys):
    class Interrupted(Agent):
        def wake(self):
            super().wake()
            if len(self.orders) == 2:
                raise KeyboardInterrupt

    agent = Interrupted()
    with pytest.raises(KeyboardInterrupt):
        measured(agent)
    assert agent.orders == ["sleep", "wake", "wake"]
    assert capsys.readouterr().err == "put back: pod p awake\n"


@pytest.mark.parametrize("before", ["awake", "asleep"])
def test_whichever_word_to_the_agent_fails_the_server_is_as_it_was(before, capsys):
    for number in range(1, 20):
        agent = Agent(before)
        agent.fails = number
        with suppress(UnclearError):
            measured(agent)
        assert "not put back" not in capsys.readouterr().err
        over, agent.fails = agent.count < number, 0
        while agent.next:
            agent.state()
        assert agent.now == before, f"call {number}: {agent.orders}"
        if over:
            break
    assert number > 8


def test_a_server_that_was_told_to_stay_asleep_is_left_so():
    agent = Agent("asleep")
    agent.stay = True
    with pytest.raises(RefusedError) as caught:
        measured(agent)
    assert str(caught.value) == (
        "pod p: was told to stay asleep, perhaps for another server on its GPU: .venv/bin/python -m ops wake"
        " --server gemma --stack dev --pod p first"
    )
    assert agent.orders == []


def test_the_first_token_comes_before_the_server_sleeps_again(monkeypatch):
    """Past the proxy nobody wakes it: a request to an engine that sleeps hangs."""
    done = []
    subject = Subject(engine_version="0.33.0")
    target = SimpleNamespace(server=SimpleNamespace(subject=lambda *_: subject))

    def slept(back, _say):
        back.promise("asleep", "sleep", lambda: done.append("sleep"))
        return wake.Woken(began=datetime.now(UTC), total=1.0, wake=0.5)

    plan = SimpleNamespace(pod={"metadata": {"name": "p"}, "spec": {"nodeName": "n"}}, measured=slept)
    reach = SimpleNamespace(first_token=lambda _: done.append("token") or 0.25)
    cluster = SimpleNamespace(find=lambda _: None)
    made = whole_run._wake(cluster, target, plan, reach, PutBack(), lambda _: None)
    assert (done, made.first_token) == (["token", "sleep"], 1.25)
