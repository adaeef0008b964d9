"""Orders and the wanted state: what they call off, when they are done, and that they outlive the agent."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import pytest

import memory
from driver import Driver
from memory import Memory
from pod_api import PodApi, follow
from terms import Limits, Outcome, Step
from tests.serving.scripts.agent.world import LIMITS, World


def test_an_order_to_wake_who_is_awake_does_not_forbid_the_next_idle_sleep() -> None:
    world = World(True).until("awake")
    for _ in range(3):
        world.perform()
    world.machine.want("awake", world.now)
    assert (world.machine.state, world.machine.wanted) == ("awake", None)
    began = world.now
    world.until("asleep")
    assert LIMITS["idle"] <= world.now - began < LIMITS["idle"] + 2, "the order counts as a use"


def test_external_who_is_awake_and_wanted_awake_stays_so() -> None:
    world = World(False).until("awake")
    world.machine.want("awake", world.now)
    assert world.machine.wanted == "awake"


@pytest.mark.parametrize("on_request", [True, False], ids=["on-request", "external"])
@pytest.mark.parametrize("phase", ["closing", "draining"])
def test_who_is_wanted_awake_again_before_it_sleeps_does_not_sleep(on_request: bool, phase: str) -> None:
    world = World(on_request).until("awake")
    slept = world.slept
    world.request()  # one that takes long
    world.machine.want("asleep", world.now, stay=True)
    world.machine.step(world.now)  # closing; with on-request there is nothing to wait for
    if phase == "draining":
        world.machine.labelled(False, world.now)
        world.until("draining")
        world.request()
        assert len(world.waiting) == 1
    world.machine.want("awake", world.now)
    world.take()
    assert (world.machine.state, world.waiting) == ("awake", {})
    assert world.machine.label is True
    for request in list(world.running):
        world.end(request)
    for _ in range(3):
        world.perform()
    assert (world.machine.state, world.slept) == ("awake", slept)


def test_a_wish_does_not_call_off_the_first_sleep_of_a_new_engine() -> None:
    world = World(True)
    while world.machine.phase != "draining":
        world.perform()
    world.machine.want("awake", world.now)
    assert (world.machine.phase, world.machine.priming) == ("draining", True)
    world.until("awake")
    assert (world.slept, world.machine.wanted) == (1, None)


def test_an_order_to_sleep_that_is_done_does_not_put_it_to_sleep_again_after_the_next_wake() -> None:
    """Also when an agent that has come back finds it done."""
    world = World(True).until("awake")
    world.machine.want("asleep", world.now)
    while world.slept == 1:
        world.perform()
    assert world.machine.wanted == "asleep", "not yet seen asleep"
    world.restart_agent().until("asleep")
    world.request()
    world.until("awake")
    for request in list(world.running):
        world.end(request)
    idle = world.now + LIMITS["idle"] - 1
    while world.now < idle:
        world.perform()
    assert (world.machine.state, world.slept) == ("awake", 2)


def test_an_arbiter_s_sleeper_stays_asleep_when_its_agent_has_restarted() -> None:
    """On a shared GPU a wake is an out-of-memory of two servers."""
    world = World(True).until("awake")
    world.machine.want("asleep", world.now, stay=True)
    world.until("asleep")
    world.restart_agent().until("asleep")
    world.request()
    for _ in range(20):
        world.perform()
    assert (world.machine.state, world.sleeping, world.waiting) == ("asleep", True, {})
    world.machine.want("awake", world.now)
    world.restart_agent().until("awake")
    assert not world.machine.stay


def test_an_order_that_is_taken_up_again_waits_for_the_sleep_that_the_agent_before_may_have_asked_for() -> None:
    """A second /sleep ends what is queued as empty successes (gpu.md 0.10)."""
    world = World(True).until("awake")
    world.machine.want("asleep", world.now, stay=True)
    began = world.now
    world.restart_agent().until("asleep")
    assert LIMITS["retry"] <= world.now - began < LIMITS["retry"] + 3
    assert world.machine.stay


# the file


def driver(folder: Path, *, on_request: bool = True) -> Driver:
    async def nobody(_step: Step) -> Outcome:
        return Outcome(ok=False, gone=True)

    limits = Limits(on_request=on_request, **LIMITS)
    return Driver(limits, nobody, folder, folder / "unwakeable", 60.0)


def test_an_order_is_on_disk_before_it_is_answered(tmp_path: Path) -> None:
    first = driver(tmp_path)
    first.want("asleep", stay=True)
    again = driver(tmp_path)
    assert (again.machine.wanted, again.machine.stay) == ("asleep", True)
    again.want("awake")
    last = driver(tmp_path)
    assert (last.machine.wanted, last.machine.stay) == ("awake", False)


def test_what_could_not_be_kept_is_kept_as_soon_as_it_can(tmp_path: Path) -> None:
    folder = tmp_path / "later"
    one = driver(folder)
    one.want("asleep", stay=True)
    folder.mkdir()
    one.labelled(True)
    assert memory.read(folder / "memory") == Memory("", "asleep", True, None)


KEPT: dict[str, Any] = {"primed": "1.79e+09", "wanted": "asleep", "stay": True, "annotation": "awake"}
NOTHING = ["", "{", "[]", "1", "[" * 90_000, *(json.dumps({**KEPT, name: 7}) for name in (*KEPT, "more"))]


@pytest.mark.parametrize("text", NOTHING, ids=range(len(NOTHING)))
def test_a_file_that_says_something_else_says_nothing(tmp_path: Path, text: str) -> None:
    file = tmp_path / "memory"
    assert memory.read(file) == Memory()
    assert memory.write(file, Memory(**KEPT))
    assert memory.read(file) == Memory(**KEPT)
    file.write_text(text)
    assert memory.read(file) == Memory()


# the pod's annotation


class Pod:
    """A pod in the API. It ends whoever follows it after some looks."""

    annotation = "vllm-eks/wanted"

    def __init__(self, *wanted: str) -> None:
        self.wanted = list(wanted)

    def read(self) -> tuple[str, bool]:
        if not self.wanted:
            raise SystemExit
        return self.wanted.pop(0), True

    def write(self, on: bool) -> bool:
        return on


def followed(one: Driver, *wanted: str) -> Driver:
    def call(function: Callable[..., object], *arguments: object) -> None:
        function(*arguments)

    with pytest.raises(SystemExit):
        follow(cast("PodApi", Pod(*wanted)), one, call, 0.0)
    return one


def test_what_was_said_last_wins_also_when_the_agent_has_restarted(tmp_path: Path) -> None:
    """An order came after the annotation: one that is read anew is no news."""
    one = followed(driver(tmp_path, on_request=False), "asleep")
    one.want("awake")
    again = followed(driver(tmp_path, on_request=False), "asleep", "asleep")
    assert again.machine.wanted == "awake"
    # it was patched while no agent was there, or later
    assert followed(driver(tmp_path, on_request=False), "asleep", "awake", "asleep").machine.wanted == "asleep"
    assert followed(driver(tmp_path, on_request=False), "awake").machine.wanted == "awake"


def test_a_new_pod_is_awake_without_an_annotation(tmp_path: Path) -> None:
    assert followed(driver(tmp_path, on_request=False), "awake").machine.wanted == "awake"
