"""The phases of a start, and what is known of each: seconds, how they are known, and from where.

Phases are those that a log can show (gpu.md 2 and 11), in the order in which they pass.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, get_args

Phase = Literal[
    "node",
    "scheduling",
    "image pull",
    "container start",
    "restore",
    "imports",
    "model inspection",
    "engine imports",
    "weights",
    "compile",
    "kernels",
    "graphs",
    "API start",
    "priming",
    "readiness",
    "wake",
]
"""`imports`: of the API server; `engine imports`: of EngineCore, which imports everything again; `model inspection`:
of the model's class, in a process of its own; `compile`: torch.compile; `kernels`: the silent build of FlashInfer and
Triton kernels; `graphs`: KV profile and CUDA graphs; `priming`: the first sleep and wake of a server that will sleep,
before it takes traffic (design 6)."""

PHASES: tuple[Phase, ...] = get_args(Phase)

Start = Literal["fresh node", "warm node", "restart", "wake"]
"""`fresh node`: none is there. `warm node`: one is, with nothing of this server on it. `restart`: the pod comes again
on the node where it ran. `wake`: the engine sleeps."""

STARTS: tuple[Start, ...] = get_args(Start)

POD_STARTS: tuple[Start, ...] = ("fresh node", "warm node", "restart")
"""Those of a new pod."""

Evidence = Literal["measured", "published", "estimated"]
"""Measured: by us or the article, of this very thing. Published: by somebody else. Estimated: of another one, or
reckoned."""

EVIDENCE: tuple[Evidence, ...] = get_args(Evidence)
"""From the best to the worst."""


@dataclass(frozen=True)
class Seconds:
    """Of one phase."""

    value: float
    evidence: Evidence
    source: str


Timeline = Mapping[Phase, Seconds]
"""The phases of one start. One that does not happen is not in it."""


def total(timeline: Timeline) -> float:
    """Return the seconds of a whole start."""
    return sum((seconds.value for seconds in timeline.values()), 0.0)


def by_evidence(timeline: Timeline) -> dict[Evidence, float]:
    """Return how many of a start's seconds are known in which way. They sum up to its total."""
    return {
        evidence: sum((it.value for it in timeline.values() if it.evidence == evidence), 0.0) for evidence in EVIDENCE
    }


def weaker(one: Evidence, other: Evidence) -> Evidence:
    """Return how a figure is known that is made of two."""
    return max(one, other, key=EVIDENCE.index)
