"""A wake, through an agent that is played: it is put back what was provoked, and never called a wake what was none."""

from __future__ import annotations

from contextlib import contextmanager
from types import SimpleNamespace

import pytest

from ops.coldstart.measure.provoke import wake
from ops.coldstart.measure.provoke.wake import Wake
from ops.coldstart.measure.put_back import PutBack
from ops.failures import RefusedError, UnclearError


class Agent:
    """Goes through the states that an order leads to, one with each look."""

    def __init__(self, state="awake", *, sleeps=("draining", "asleep"), wakes=("waking", "awake")):
        self.now, self.problem = state, ""
        self.sleeps, self.wakes = sleeps, wakes
        self.next: list[str] = []
        self.orders: list[str] = []

    @contextmanager
    def __call__(self, pod):
        assert pod == "p"
        yield self

    def state(self):
        said = {"state": self.now, "lastWakeSeconds": 0.031, "inFlight": 2, "problem": self.problem}
        if self.next:
            self.now = self.next.pop(0)
        return said

    def sleep(self, *, stay=False):
        assert not stay
        self.orders.append("sleep")
        self.next = [] if self.now == "asleep" else list(self.sleeps)

    def wake(self):
        self.orders.append("wake")
        self.next = [] if self.now == "awake" else list(self.wakes)


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
