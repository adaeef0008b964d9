"""The state machine alone: whatever comes in whatever order, some things never happen."""

from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from tests.serving.scripts.agent.world import World


class Anything(RuleBasedStateMachine):
    @initialize(on_request=st.booleans())
    def begin(self, on_request: bool) -> None:
        self.world = World(on_request)
        self.stopped = False

    @rule(steps=st.integers(1, 12), fault=st.sampled_from(["", "", "", "fails", "hangs", "cut"]))
    def perform(self, steps: int, fault: str) -> None:
        for number in range(steps):
            self.world.perform(fault if number == 0 else "")

    @rule(count=st.integers(1, 3))
    def request(self, count: int) -> None:
        for _ in range(count):
            self.world.request()

    @precondition(lambda self: self.world.running)
    @rule(data=st.data())
    def end(self, data: Any) -> None:
        self.world.end(data.draw(st.sampled_from(sorted(self.world.running))))

    @precondition(lambda self: self.world.waiting)
    @rule(data=st.data())
    def client_leaves(self, data: Any) -> None:
        request = data.draw(st.sampled_from(sorted(self.world.waiting)))
        del self.world.waiting[request]
        self.world.machine.ended(request, self.world.now)

    @rule(what=st.sampled_from(["awake", "asleep"]), stay=st.booleans())
    def want(self, what: Any, stay: bool) -> None:
        self.world.machine.want(what, self.world.now, stay=stay)
        self.world.take()

    @rule(on=st.booleans())
    def label(self, on: bool) -> None:
        self.world.machine.labelled(on, self.world.now)

    @rule(seconds=st.sampled_from([0.1, 1.0, 6.0]))
    def time_passes(self, seconds: float) -> None:
        self.world.now += seconds
        self.world.machine.tick(self.world.now)
        self.world.take()

    @rule()
    def engine_dies(self) -> None:
        self.world.die()

    @precondition(lambda self: not self.world.up)
    @rule()
    def engine_restarts(self) -> None:
        # kubelet takes its time: the agent has seen the closed port
        for _ in range(6):
            self.world.perform()
        self.world.restart()

    @precondition(lambda self: not self.stopped and not self.world.running)
    @rule()
    def agent_restarts(self) -> None:
        self.world.waiting.clear()  # nginx has refused them
        self.world.restart_agent()

    @rule()
    def stop(self) -> None:
        self.world.machine.stop(self.world.now)
        self.stopped = True
        self.world.take()

    @invariant()
    def who_waits_is_in_the_books_and_not_overdue(self) -> None:
        if hasattr(self, "world"):
            assert self.world.waiting.keys() == self.world.machine.ledger.held.keys()
            assert not self.world.machine.decided

    def teardown(self) -> None:
        """Every request that waits gets an answer, whatever happens next, and nobody has to do anything for it."""
        if hasattr(self, "world"):
            for _ in range(400):
                if not self.world.waiting:
                    return
                self.world.perform()
            raise AssertionError(f"{self.world.waiting} wait for ever")


TestAnything = Anything.TestCase
TestAnything.settings = settings(max_examples=300, stateful_step_count=40, deadline=None)
