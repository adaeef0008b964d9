"""What moves the machine: performs its steps at the engine, one at a time, and hands on what it decides."""

import asyncio
import contextlib
import sys
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

import memory
import verdict
from ledger import Ledger
from machine import Machine
from memory import Memory
from terms import OVERDUE, STOPPING, Decision, Limits, Outcome, Step, Wanted

VERDICT_PERIOD = verdict.AGE / 3
"""Seconds between two writes of the verdict: one that is missed does not lift it."""


class Driver:
    """The machine with a clock and an engine."""

    def __init__(
        self,
        limits: Limits,
        perform: Callable[[Step], Awaitable[Outcome]],
        folder: Path,
        verdict_file: Path,
        lost: float,
    ) -> None:
        """`folder`: outlives the agent. `verdict_file`: the engine's liveness probe reads it."""
        self.clock = time.monotonic
        self.decide: Callable[[str, Decision], None] = lambda _request, _decision: None
        self._perform = perform
        self._memory, self._verdict = folder / "memory", verdict_file
        self._nudge = asyncio.Event()
        self._kept = kept = memory.read(self._memory)
        self.annotation = kept.annotation
        """The wanted state that the pod said last."""
        self.machine = Machine(
            limits, self.clock(), primed=kept.primed, wanted=kept.wanted, stay=kept.stay, ledger=Ledger(lost)
        )
        self._said = ("", "", "")
        self._written = 0.0

    def request(self, request: str) -> Decision | None:
        """Return what becomes of a request; None: `decide` will be called."""
        decision = self.machine.request(request, self.clock())
        if self.machine.phase != "awake" or decision is None:
            self._changed()
        return decision

    def ended(self, request: str) -> None:
        """Take in the end of a request."""
        if request in self.machine.ledger.held:
            self.decide(request, OVERDUE)
        self.machine.ended(request, self.clock())
        if self.machine.phase != "awake":
            self._changed()

    def want(self, what: Wanted, *, stay: bool = False) -> None:
        """Take an order."""
        self.machine.want(what, self.clock(), stay=stay)
        self._changed()

    def annotated(self, what: Wanted) -> None:
        """Take the wanted state of the pod, which has changed."""
        self.annotation = what
        self.want(what)

    def labelled(self, on: bool) -> None:
        """Take in the pod's label."""
        self.machine.labelled(on, self.clock())
        self._changed()

    def stop(self) -> None:
        """The pod ends."""
        self.machine.stop(self.clock())
        self._changed()

    def close(self) -> None:
        """The agent itself ends: nobody waits for an answer that will not come."""
        for request in list(self.machine.ledger.all_held()):
            self.decide(request, STOPPING)

    async def run(self) -> None:
        """Perform steps for ever."""
        deadlines = asyncio.ensure_future(self._deadlines())
        try:
            while True:
                step, seconds = self.machine.step(self.clock())
                self._flush()
                if seconds > 0:
                    with contextlib.suppress(asyncio.TimeoutError):
                        await asyncio.wait_for(self._nudge.wait(), seconds)
                    self._nudge.clear()
                    continue
                outcome = await self._perform(step)
                self.machine.learned(step, outcome, self.clock())
                self._flush()
        finally:
            deadlines.cancel()

    async def _deadlines(self) -> None:
        """Requests give up also while a step takes its time."""
        while True:
            until = min(self.machine.ledger.held.values(), default=self.clock() + self.machine.limits.poll)
            await asyncio.sleep(min(max(0.01, until - self.clock()), self.machine.limits.poll))
            self.machine.tick(self.clock())
            self._flush()

    def _changed(self) -> None:
        self._flush()
        self._nudge.set()

    def _flush(self) -> None:
        machine, now = self.machine, self.clock()
        decided, machine.decided = machine.decided, []
        for request, decision in decided:
            self.decide(request, decision)
        keep = Memory(machine.primed, machine.wanted, machine.stay, self.annotation)
        if keep != self._kept and memory.write(self._memory, keep):
            self._kept = keep
        if machine.phase == "failed":
            if now - self._written >= VERDICT_PERIOD:
                self._written = now
                verdict.write(self._verdict, machine.problem)
        elif self._written or machine.state == "starting":
            self._written = 0.0
            verdict.remove(self._verdict)
        said = (machine.state, machine.problem, machine.looks.complaint(now))
        if said != self._said:
            self._said = said
            sys.stdout.write(f"{' '.join(': '.join(part for part in said if part).split())}\n")
            sys.stdout.flush()
