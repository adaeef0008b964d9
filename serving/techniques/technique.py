"""What a technique is: one change of the pod, the start-up phase it attacks, and what it is worth."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal

import pulumi

from serving.cache_key import CacheKey
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
class Provided:
    """What the stack gives to a server beside its settings.

    None of it may reach flags or environment of the engine: the cache key is made from those.
    """

    server: str
    """Its name."""
    bucket: pulumi.Input[str]
    """Name of the bucket that holds models and caches."""
    programs: pulumi.Input[str]
    """Name of the ConfigMap with the programs that start an engine."""
    key: CacheKey


@dataclass(frozen=True, kw_only=True)
class Technique:
    """One step of the ladder. Nothing outside this object branches on the technique."""

    name: str
    phase: Phase
    saves: Saving
    flags: tuple[str, ...]
    """Flags of `vllm serve` that it sets: no stack file may set them beside it."""
    needs: tuple[str, ...] = ()
    """Techniques that it builds on: they come before it in the table."""
    refusals: Callable[[Situation], Iterator[str]] = lambda _: iter(())
    """What must hold before it may be used: yields a sentence, with the sum, for each thing that does not."""
    apply: Callable[[Pod, Situation, Provided], Pod]
    """Returns the changed pod."""
