"""The words of the state machine: its states, its limits, what it decides and what it is told."""

from dataclasses import dataclass
from typing import Literal

State = Literal["starting", "awake", "closing", "draining", "asleep", "waking", "failed", "stopping"]
STATES: tuple[State, ...] = ("starting", "awake", "closing", "draining", "asleep", "waking", "failed", "stopping")

READY: tuple[State, ...] = ("awake", "closing", "draining", "asleep", "waking")
"""A sleeper stays ready: NotReady, it would hold up every later rollout (vllm.md A24)."""

Wanted = Literal["awake", "asleep"]

Step = Literal["health", "count", "ask", "sleep", "wake"]
"""GET /health; GET /metrics; GET /is_sleeping; POST /sleep; POST /wake_up."""


@dataclass(frozen=True)
class Limits:
    """All but the first in seconds."""

    on_request: bool
    """A request wakes the engine; else only an order or the wanted state does."""
    silent: float
    """That the engine may leave looks at it unanswered before the pod is not ready."""
    idle: float = 300.0
    """Without an open request, before it falls asleep by itself (on-request)."""
    hold: float = 30.0
    """That a request may wait."""
    drain: float = 120.0
    """That open requests may take to end, before the engine stays awake after all."""
    wake: float = 60.0
    """That a wake may take before the engine counts as failed (0.7 s measured for 15 GiB, gpu.md 9)."""
    settle: float = 5.0
    """Between losing the label and shutting the gate: endpoints follow labels with a delay (external)."""
    poll: float = 1.0
    """Between two looks at the engine's health."""
    look: float = 10.0
    """Between two looks at its metrics, while requests are open for longer than that."""
    retry: float = 60.0
    """After a sleep that came to nothing, or of which an agent that is gone may have asked, before the next attempt."""
    busy: float = 0.1
    """Between two looks while something is awaited."""


@dataclass(frozen=True)
class Decision:
    """What becomes of a request."""

    admitted: bool
    why: str = ""
    retry: int = 0
    """Seconds after which the client may try again."""


ADMITTED = Decision(True)
STARTING = Decision(False, "the engine is starting", 10)
STOPPING = Decision(False, "the server is stopping", 1)
FAILED = Decision(False, "the engine does not wake", 60)
OVERDUE = Decision(False, "the engine did not wake in time", 5)


@dataclass(frozen=True)
class Outcome:
    """What came of a step."""

    ok: bool
    """It was answered as it should be."""
    gone: bool = False
    """The engine's port refuses, or the engine says that it is dead."""
    silent: bool = False
    """No whole answer came in time."""
    absent: bool = False
    """The answer has not what is asked for (no such path, no such gauge): this engine cannot sleep safely."""
    value: float = 0.0
    """Of `count`: requests that run and wait. Of `ask`: 1 when it sleeps."""
    sleeping: bool = False
    """Of `count`: its gauge says that it sleeps."""
    engine: str = ""
    """Of `count`: what tells this engine process from another one."""


@dataclass
class Totals:
    """For metrics: since this agent started."""

    asleep: float = 0.0
    wakes: int = 0
    wake_seconds: float = 0.0
    last_wake: float = 0.0
    refused: int = 0
