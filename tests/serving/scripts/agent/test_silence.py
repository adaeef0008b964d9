"""VLM-02: readiness notices an engine that hangs before liveness ends it, and that it answers again at once."""

from dataclasses import replace

import pytest

from terms import Outcome
from tests.serving.scripts.agent.world import FAILS, LIMITS, World

SILENT = Outcome(ok=False, silent=True)


def hang(world: World, seconds: float, outcome: Outcome = SILENT, *, only: str = "health count ask") -> None:
    """Let that many seconds pass in which looks come to nothing."""
    end = world.now + seconds
    while world.now < end:
        step, delay = world.machine.step(world.now)
        world.now += delay
        world.machine.tick(world.now)
        if not delay:
            world.now += 0.1
            world.machine.learned(step, outcome if step in only.split() else world.engine(step), world.now)


@pytest.mark.parametrize("outcome", [SILENT, FAILS], ids=["silent", "answers 500"])
@pytest.mark.parametrize("state", ["awake", "asleep"])
def test_VLM_02_the_pod_of_an_engine_that_hangs_is_not_ready_until_it_answers(state: str, outcome: Outcome) -> None:
    world = World(False).until("awake")
    if state == "asleep":
        world.machine.want("asleep", world.now)
        world.until("closing").machine.labelled(False, world.now)
        world.until("asleep")
    hang(world, LIMITS["silent"] - 1, outcome)
    assert world.machine.ready, "a stall"
    hang(world, 4, outcome)
    assert (world.machine.state, world.machine.ready) == (state, False)
    assert world.machine.looks.complaint(world.now) == "the engine has not answered for 4 s"
    while not world.machine.ready:
        assert world.perform() in ("rest", "health", "ask"), "the next answer is enough"
    assert world.machine.looks.complaint(world.now) == ""


def test_VLM_02_it_is_noticed_with_requests_in_flight() -> None:
    world = World(True).until("awake")
    world.request()
    hang(world, LIMITS["silent"] + 3)
    assert not world.machine.ready


def draining() -> World:
    """While it waits for the end of requests it is asked for nothing but its metrics."""
    world = World(True).until("awake")
    world.machine.limits = world.machine.looks.limits = replace(world.machine.limits, drain=60.0)
    world.machine.want("asleep", world.now)
    world.running["of the agent before"] = 0.0
    return world.until("draining")


def test_VLM_02_it_is_noticed_while_the_engine_drains() -> None:
    world = draining()
    hang(world, LIMITS["silent"] + 1)
    assert (world.machine.state, world.machine.ready) == ("draining", False)


def test_an_engine_that_answers_without_metrics_is_ready_while_it_drains() -> None:
    world = draining()
    hang(world, LIMITS["silent"] + 1, FAILS)
    assert (world.machine.state, world.machine.ready) == ("draining", True)


def test_an_engine_whose_metrics_alone_fail_is_ready() -> None:
    """Nor is one whose sleep takes minutes silent: it is not looked at meanwhile."""
    world = World(True).until("awake")
    world.request()
    hang(world, 3 * LIMITS["silent"], FAILS, only="count")
    assert world.machine.ready
    world.end("r0")
    world.machine.want("asleep", world.now)
    while world.slept == 1:
        step, _ = world.machine.step(world.now)
        if step == "sleep":
            break
        world.perform()
    world.now += 600
    world.machine.tick(world.now)
    assert world.machine.ready


def test_the_silence_of_an_engine_ends_with_it() -> None:
    world = World(True).until("awake")
    hang(world, LIMITS["silent"] + 3)
    world.die()
    world.until("starting")
    for _ in range(20):
        world.perform()
        assert world.machine.looks.complaint(world.now) == "", "its port refuses: nobody waits for an answer"
    world.restart()
    world.until("awake")
    assert world.machine.ready
