"""The state machine of a server that sleeps. It has no clock, no sockets and no threads: time and news come as calls.

    starting -> awake -> closing -> draining -> asleep -> waking -> awake
    closing, draining -> awake    on a new request (on-request), on a wish for it, or when requests do not end in time
    any -> failed                 the engine does not wake
    any -> starting               the engine is gone: kubelet starts it again
    any -> stopping               the pod ends, or kubelet stops the engine: no sleep, no wake

Whoever drives it performs the step that `step` names, one at a time, and tells what came of it with `learned`. A sleep
is asked for only behind a closed gate, with no request open, after the engine has said that it runs nothing and that it
is awake: a second /sleep ends what is queued as empty successes (gpu.md 0.10). From that order on the server is asleep:
nothing passes until it has been woken, however the order ends.

Before a new engine takes traffic it sleeps and wakes once, within `starting`: the first sleep pins host memory and
takes seconds, later ones 0.4 s (gpu.md 0.11).
"""

import math
from dataclasses import dataclass, field

from ledger import Ledger
from looks import NEVER, Looks
from terms import (
    ADMITTED,
    FAILED,
    OVERDUE,
    READY,
    STARTING,
    STOPPING,
    Decision,
    Limits,
    Outcome,
    State,
    Step,
    Totals,
    Wanted,
)


@dataclass
class Machine:
    """The machine. `decided` collects what became of requests that waited; whoever drives it empties that."""

    limits: Limits
    now: float
    primed: str = ""
    """The engine process that has slept once. Outlives the agent in a file, and so do the next two."""
    wanted: Wanted | None = None
    stay: bool = False
    """No request wakes it."""
    ledger: Ledger = field(default_factory=Ledger)
    totals: Totals = field(default_factory=Totals)
    decided: list[tuple[str, Decision]] = field(default_factory=list)
    problem: str = ""
    """Why it is not in the state that was wanted."""
    phase: State = field(default="starting", init=False)

    def __post_init__(self) -> None:
        self.stay = self.stay or not self.limits.on_request
        self.priming = False
        self.up: bool | None = None
        """Whether the engine's port answers; None: nobody has looked yet."""
        self.since = self.idle_since = self.closed = self.now
        self.looks = Looks(self.limits)
        # the agent before may have asked for the sleep: a second one must not follow while that is under way
        self._not_before = self.now + self.limits.retry if self.wanted == "asleep" else NEVER
        self._engine, self._active = "", 0.0
        self._serving = self._was_down = False
        self._label: bool | None = None
        self._label_since = NEVER

    @property
    def state(self) -> State:
        """What it is to everybody else: the first sleep and wake are part of the start."""
        return "starting" if self.priming and self.phase not in ("failed", "stopping") else self.phase

    @property
    def ready(self) -> bool:
        """Whether the pod may have traffic."""
        return self.state in READY and not self.looks.silent(self.now)

    @property
    def label(self) -> bool | None:
        """Whether the pod is to have the label by which Services select it (external); None: it stays as it is."""
        return None if self.state in ("starting", "stopping") else self.state == "awake"

    def asleep_seconds(self, now: float) -> float:
        """Return the seconds asleep, the present sleep included."""
        return self.totals.asleep + (now - self.since if self.state == "asleep" else 0.0)

    # what others say

    def request(self, request: str, now: float) -> Decision | None:
        """Return what becomes of a request; None: it waits, and `decided` will tell."""
        self.now = now
        if self.state in ("closing", "draining") and not self.stay:
            self.wanted = None
            self._enter("awake")
        state = self.state
        if request in self.ledger.open:
            return ADMITTED
        if state == "awake" or (state == "closing" and self.stay) or (state == "stopping" and self._serving):
            self.ledger.admit(request, now)
            return ADMITTED
        if state in ("stopping", "failed") or (state == "starting" and (self.priming or self.up is False)):
            self.totals.refused += 1
            return {"stopping": STOPPING, "failed": FAILED}.get(state, STARTING)
        self.ledger.hold(request, now + self.limits.hold)
        return None

    def ended(self, request: str, now: float) -> None:
        """Take in that nginx is done with a request."""
        self.now = now
        if self.ledger.ended(request):
            self.idle_since = now

    def tick(self, now: float) -> None:
        """Refuse what has waited long enough."""
        self.now = now
        self._refuse(OVERDUE, list(self.ledger.overdue(now)))

    def want(self, what: Wanted, now: float, *, stay: bool = False) -> None:
        """Take an order, or the wanted state of the pod. `stay`: no request wakes it until it is told to wake."""
        self.now, self.wanted, self._not_before = now, what, NEVER
        if self.limits.on_request:
            self.stay = stay and what == "asleep"
        if what == "awake" and self.phase == "awake":
            self._is_awake()
        elif what == "awake" and self.state in ("closing", "draining"):
            self._enter("awake")

    def stop(self, now: float) -> None:
        """The pod ends. What an awake engine can still serve passes; what waits for a wake is refused."""
        self.now = now
        if self.phase != "stopping":
            self._serving = self.phase in ("awake", "closing", "draining") and not self.priming
            self._was_down = self.up is False
            self._enter("stopping")
            self._refuse(STOPPING, list(self.ledger.all_held()))

    def labelled(self, on: bool, now: float) -> None:
        """Take in that the pod has the label, or has it not."""
        if on != self._label:
            self._label, self._label_since = on, now

    # steps

    def step(self, now: float) -> tuple[Step, float]:
        """Return what is to be done next, and after how many seconds. What is due at once must be done."""
        self.now = now
        if self.phase == "awake" and self._wants_sleep():
            self.closed = now
            self._enter("closing")
        settled = self._label is False and now - self._label_since >= self.limits.settle
        if self.phase == "closing" and (self.limits.on_request or settled):
            self._enter("draining")
        if self.phase in ("closing", "draining") and now - self.closed > self.limits.drain:
            self._give_up_sleep(f"{len(self.ledger.open)} requests did not end within {self.limits.drain:g} s")
        if self.phase == "asleep" and self._wants_wake():
            self._enter("waking")
        if self.phase == "waking" and now - self.since > self.limits.wake:
            self.problem = f"the engine did not wake within {self.limits.wake:g} s"
            self._enter("failed")
            self._refuse(FAILED, list(self.ledger.all_held()))
        step = self.looks.next(self.phase, self.up, self.ledger.oldest(), now)
        if step == "sleep":
            self._enter("asleep")
        return step, self.looks.delay(step, now)

    def learned(self, step: Step, outcome: Outcome, now: float) -> None:
        """Take in what came of a step."""
        self.now = now
        self.looks.took(step, outcome, now)
        if outcome.gone:
            self._gone()
        elif step == "sleep" and not outcome.ok and self.phase == "asleep":
            # it may yet fall asleep: what is asked for now is that it wakes
            self.problem = "the engine did not fall asleep in order"
            self._not_before = now + self.limits.retry
            self._enter("waking")
        elif outcome.absent and self.phase in ("starting", "draining"):
            self._not_before = math.inf
            self._give_up_sleep("the engine does not tell whether it sleeps or what it runs: it stays awake")
        elif outcome.ok:
            {"health": self._there, "count": self._count, "ask": self._ask}.get(step, self._done)(step, outcome)

    def _there(self, _step: Step, _outcome: Outcome) -> None:
        if self.phase == "stopping" and self._was_down:
            # it was not the pod that ended: kubelet has restarted the engine
            self._enter("starting")
        self.up = True

    def _count(self, _step: Step, outcome: Outcome) -> None:
        self._active, self._engine = outcome.value, outcome.engine or "unknown"
        self.ledger.quiet(outcome.value, self.now)
        if outcome.value == 0 or self.phase == "starting":
            self.looks.known.add("count")
        else:
            self.looks.stumbled = self.now
        if outcome.sleeping and self.phase == "awake":
            self.problem = "somebody else has put the engine to sleep"
            self._enter("waking")

    def _ask(self, _step: Step, outcome: Outcome) -> None:
        sleeping = outcome.value == 1
        if self.phase == "starting":
            self._begin(sleeping)
        elif self.phase in ("draining", "asleep") and sleeping:
            self._found_asleep()
        elif self.phase == "draining":
            self.looks.known.add("ask")
        elif self.phase == "asleep":
            self._give_up_sleep("the engine did not fall asleep")
        elif self.phase in ("waking", "failed") and not sleeping:
            self._woken()
        elif self.phase in ("waking", "failed"):
            self.looks.stumbled = self.now

    def _found_asleep(self) -> None:
        if self.phase != "asleep":
            self._enter("asleep")
        self.looks.known.add("ask")
        if not self.stay and not self.priming and self.wanted == "asleep":
            self.wanted = None

    def _done(self, step: Step, _outcome: Outcome) -> None:
        self.looks.known.add(step)

    def _begin(self, sleeping: bool) -> None:
        """Take over an engine that this agent knows nothing of: a new one, or that of an agent that is gone."""
        if sleeping:
            self._found_asleep()
        elif self.primed == self._engine or self._active > 0:
            self._enter("awake")
        else:
            self.priming, self.closed = True, self.now
            self._refuse(STARTING, list(self.ledger.all_held()))
            self._enter("draining")

    def _woken(self) -> None:
        if self.priming:
            self.priming, self.primed = False, self._engine
        elif self.phase == "waking":
            self.totals.wakes += 1
            self.totals.last_wake = self.now - self.since
            self.totals.wake_seconds += self.totals.last_wake
        self.problem = ""
        self._enter("awake")

    def _gone(self) -> None:
        self.up, self.primed = False, ""
        if not self.stay:
            # an order was for the engine that is gone
            self.wanted = None
        self.ledger.clear()
        if self.phase == "stopping":
            self._serving, self._was_down = False, True
        elif self.phase != "starting":
            self._enter("starting")
        self.priming = False
        self.looks.known.clear()
        self._refuse(STARTING, list(self.ledger.all_held()))

    def _give_up_sleep(self, problem: str) -> None:
        self.problem = problem
        self._not_before = max(self._not_before, self.now + self.limits.retry)
        if self.limits.on_request:
            self.wanted, self.stay = None, False
        self.priming, self.primed = False, self._engine
        self._enter("awake")

    def _wants_sleep(self) -> bool:
        if self.now < self._not_before or self.wanted == "awake":
            return False
        idle = self.limits.on_request and not self.ledger.open and self.now - self.idle_since >= self.limits.idle
        return self.wanted == "asleep" or idle

    def _wants_wake(self) -> bool:
        return self.priming or self.wanted == "awake" or (not self.stay and bool(self.ledger.held))

    def _enter(self, phase: State) -> None:
        if self.state == "asleep":
            self.totals.asleep += self.now - self.since
        self.phase, self.since = phase, self.now
        self.looks.anew()
        if phase == "awake":
            self._is_awake()

    def _is_awake(self) -> None:
        # an order that is done would forbid the next idle sleep
        self.idle_since = self.now
        if self.limits.on_request and self.wanted == "awake":
            self.wanted = None
        for request in list(self.ledger.all_held()):
            self.ledger.admit(request, self.now)
            self.decided.append((request, ADMITTED))

    def _refuse(self, decision: Decision, requests: list[str]) -> None:
        self.totals.refused += len(requests)
        self.decided.extend((request, decision) for request in requests)
