"""What a technique is: one change of the pod, the start-up phase it attacks, and what it is worth."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal

import pulumi

from serving.pod import Pod, Situation

Phase = Literal["image pull", "imports", "weights", "engine init", "readiness"]
Evidence = Literal["measured", "published", "estimated"]


@dataclass(frozen=True, kw_only=True)
class Saving:
    """Seconds of a cold start, with where the number comes from."""

    seconds: float
    evidence: Evidence
    source: str


@dataclass(frozen=True, kw_only=True)
class Technique:
    """One step of the ladder. Nothing outside this object branches on the technique."""

    name: str
    phase: Phase
    saves: Saving
    flags: tuple[str, ...]
    """Flags of `vllm serve` that it sets: no stack file may set them beside it."""
    refusals: Callable[[Situation], Iterator[str]]
    """What must hold before it may be used: yields a sentence, with the sum, for each thing that does not."""
    apply: Callable[[Pod, Situation, pulumi.Input[str]], Pod]
    """Returns the changed pod. The third argument is the name of the bucket that holds the model."""
