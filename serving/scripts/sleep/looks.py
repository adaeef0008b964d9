"""What has been looked at since the last change of the phase, and what is to be looked at next."""

import math
from dataclasses import dataclass, field

from terms import Limits, Outcome, State, Step

NEVER = -math.inf


@dataclass
class Looks:
    """Times of looks at the engine, and what the phase knows already."""

    limits: Limits
    known: set[Step] = field(default_factory=set)
    """Steps of this phase that have told what is waited for."""
    looked: float = NEVER
    """At its health."""
    counted: float = NEVER
    """At its metrics."""
    stumbled: float = NEVER
    """A step of this phase failed, or told what one does not wait for."""
    unanswered: float | None = None
    """When the first look failed that the engine has left unanswered since its last answer; None: it answers."""

    def anew(self) -> None:
        """The phase has changed."""
        self.known.clear()
        self.stumbled = NEVER

    def took(self, step: Step, outcome: Outcome, now: float) -> None:
        """A step is over."""
        if step == "health":
            self.looked = now
        if step == "count":
            self.counted = now
        if not outcome.ok:
            self.stumbled = now
        if outcome.ok or outcome.gone:
            self.unanswered = None
        elif self.unanswered is None and (outcome.silent or step == "health"):
            self.unanswered = now

    def silent(self, now: float) -> bool:
        """Return whether the engine has not answered for too long. Liveness takes longer: it may be a stall."""
        return self.unanswered is not None and now - self.unanswered >= self.limits.silent

    def complaint(self, now: float) -> str:
        """Return that in words; nothing while it answers."""
        return f"the engine has not answered for {self.limits.silent:g} s" if self.silent(now) else ""

    def next(self, phase: State, up: bool | None, oldest: float | None, now: float) -> Step:
        """Return the next step.

        Args:
            phase: of the machine.
            up: whether the engine's port answers.
            oldest: when the oldest open request was admitted; None: none is open.
            now: seconds.
        """
        due = now - self.looked >= self.limits.poll
        if phase == "starting" and up:
            return "ask" if "count" in self.known else "count"
        if phase == "draining" and oldest is None:
            if {"count", "ask"} <= self.known:
                return "sleep"
            return "ask" if "count" in self.known else "count"
        if phase == "waking":
            return "ask" if "wake" in self.known else "wake"
        if phase in ("asleep", "failed") and "ask" not in self.known and not due:
            return "ask"
        watched = phase in ("awake", "closing", "draining") and oldest is not None
        if watched and min(now - self.counted, now - (oldest or 0.0)) >= self.limits.look:
            return "count"
        return "health"

    def delay(self, step: Step, now: float) -> float:
        """Return the seconds before a step."""
        if step == "sleep":
            return 0.0
        after = self.stumbled + (self.limits.busy if step in ("count", "ask") else self.limits.poll)
        return max(0.0, (max(after, self.looked + self.limits.poll) if step == "health" else after) - now)
