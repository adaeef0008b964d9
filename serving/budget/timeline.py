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
    "readiness",
    "wake",
]
"""`imports`: of the API server; `engine imports`: of EngineCore, which imports everything again; `model inspection`:
of the model's class, in a process of its own; `compile`: torch.compile; `kernels`: the silent build of FlashInfer and
Triton kernels; `graphs`: KV profile and CUDA graphs."""

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


@dataclass(frozen=True)
class Seconds:
    """Of one phase."""

    value: float
    evidence: Evidence
    source: str


Timeline = Mapping[Phase, Seconds]
"""The phases of one start. One that does not happen is not in it."""
