"""An engine, what is with it, and the machine between: what may never happen is asserted where it would."""

import itertools
from dataclasses import dataclass, field
from typing import Any

from machine import Machine
from terms import Limits, Outcome

LIMITS = {"idle": 5.0, "hold": 3.0, "drain": 4.0, "wake": 6.0, "settle": 1.0, "poll": 1.0, "look": 2.0, "retry": 3.0}
LIMITS["silent"] = 4.0
LAG = 0.5
FINE = Outcome(ok=True)
FAILS = Outcome(ok=False)
GONE = Outcome(ok=False, gone=True)


@dataclass
class World:
    """An engine, nginx's view of its requests, and the machine between them."""

    on_request: bool
    now: float = 100.0
    up: bool = True
    sleeping: bool = False
    running: dict[str, float] = field(default_factory=dict)
    """Since when. The engine counts a request only some time after it has come."""
    waiting: dict[str, float] = field(default_factory=dict)
    asked_since: bool = False
    numbers: Any = field(default_factory=itertools.count)
    began: int = 0
    slept: int = 0

    def __post_init__(self) -> None:
        self.machine = Machine(Limits(on_request=self.on_request, **LIMITS), self.now)

    def perform(self, fault: str = "") -> str:
        """One step of the driver."""
        if self.machine.phase != "draining":
            self.asked_since = False  # behind a closed gate, or it does not count
        step, delay = self.machine.step(self.now)
        if delay > 0:
            self.now += delay
            self.machine.tick(self.now)
            self.take()
            return "rest"
        if step == "sleep":
            assert self.machine.phase == "asleep"
            assert not self.running, "put to sleep with a request in flight"
            assert self.asked_since, "put to sleep without asking whether it sleeps"
            self.slept += 1
        if not self.up:
            outcome = GONE
        elif fault == "fails" or (fault == "hangs" and step in ("sleep", "wake")):
            self.now += 2.0 if fault == "hangs" else 0.0
            outcome = FAILS
        else:
            outcome = self.engine(step)
            if fault == "cut" and step in ("sleep", "wake"):  # it was done, and the answer did not come
                outcome = FAILS
        if step == "ask" and outcome.ok:
            self.asked_since = True
        if step in ("sleep", "wake"):
            self.asked_since = False
        self.now += 0.01
        self.machine.learned(step, outcome, self.now)
        self.take()
        return step

    def engine(self, step: str) -> Outcome:
        if step == "count":
            counted = [since for since in self.running.values() if self.now - since > LAG]
            return Outcome(ok=True, value=len(counted), engine=str(self.began), sleeping=self.sleeping)
        if step == "ask":
            return Outcome(ok=True, value=float(self.sleeping))
        if step in ("sleep", "wake"):
            self.sleeping = step == "sleep"
        return FINE

    def request(self) -> None:
        request = f"r{next(self.numbers)}"
        decision = self.machine.request(request, self.now)
        if decision is None:
            self.waiting[request] = self.now
        elif decision.admitted:
            self.admitted(request)
        self.take()

    def admitted(self, request: str) -> None:
        assert self.machine.phase in ("awake", "closing", "stopping"), "admitted while not awake"
        if self.up:
            assert not self.sleeping, "admitted to a sleeping engine"
            self.running[request] = self.now

    def take(self) -> None:
        decided, self.machine.decided = self.machine.decided, []
        for request, decision in decided:
            del self.waiting[request]
            if decision.admitted:
                self.admitted(request)

    def end(self, request: str) -> None:
        self.running.pop(request, None)
        self.machine.ended(request, self.now)

    def die(self) -> None:
        self.up = self.sleeping = False
        self.running.clear()

    def restart(self) -> None:
        self.up, self.began = True, self.began + 1

    def restart_agent(self) -> "World":
        """The same engine, and an agent that has of the one before what outlives it."""
        old, stays = self.machine, self.machine.stay and self.on_request
        self.machine = Machine(old.limits, self.now, primed=old.primed, wanted=old.wanted, stay=stays)
        return self

    def until(self, state: str, steps: int = 200) -> "World":
        for _ in range(steps):
            if self.machine.state == state:
                return self
            self.perform()
        raise AssertionError(f"{self.machine.state}, not {state}")
