"""What a technique is: one change of the pod, and what it does to the phases of a start."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import pulumi

from infra.gpu_pools.pool import NodeTechnique
from infra.instances import InstanceType
from serving.budget.timeline import Evidence, Phase, Start
from serving.cache_key import CacheKey
from serving.pod import Pod, Situation


@dataclass(frozen=True, kw_only=True)
class Effect:
    """What a technique does to one phase of some starts."""

    phase: Phase
    starts: tuple[Start, ...]
    seconds: Callable[[float, Situation, InstanceType], float]
    """From the seconds without the technique (0: the phase does not happen) to those with it, on a type of the pool."""
    evidence: Evidence
    source: str
    beside: tuple[str, ...] = ()
    """Techniques without which it does nothing."""
    as_seen: Callable[[Situation], bool] = lambda _: True
    """Whether a server uses it as the evidence has it. Where it does not, the seconds are estimated."""


def saved(seconds: float) -> Callable[[float, Situation, InstanceType], float]:
    """Return an effect that takes so many seconds away, and never more than there are."""
    return lambda before, _situation, _kind: max(0.0, before - seconds)


def scaled(share: float) -> Callable[[float, Situation, InstanceType], float]:
    """Return an effect that leaves this share of a phase."""
    return lambda before, _situation, _kind: before * share


def taking(seconds: float) -> Callable[[float, Situation, InstanceType], float]:
    """Return an effect after which a phase takes so many seconds, whatever it took before."""
    return lambda _before, _situation, _kind: seconds


def at_most(seconds: float) -> Callable[[float, Situation, InstanceType], float]:
    """Return an effect after which a phase that happens takes so many seconds, or less if it took less before."""
    return lambda before, _situation, _kind: min(before, seconds)


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
    proxy_image: str
    """Of the front proxy, as nodes pull it."""
    front_programs: pulumi.Input[str]
    """Name of the ConfigMap with what runs behind a front proxy."""
    tokens: pulumi.Input[str] | None
    """Name of the Secret with the server's valid bearer tokens; None: it asks for none."""


@dataclass(frozen=True, kw_only=True)
class Technique:
    """One step of the ladder. Nothing outside this object branches on the technique."""

    name: str
    effects: tuple[Effect, ...]
    """Empty: it saves no seconds, and is there for another reason."""
    flags: tuple[str, ...] = ()
    """Flags of `vllm serve` that it sets: no stack file may set them beside it."""
    images: tuple[str, ...] = ()
    """Upstream references that its containers run, beside the engine's."""
    sidecars_take: tuple[int, int] = (0, 0)
    """Millicores and MiB that its sidecars ask for, beside the engine."""
    node: NodeTechnique | None = None
    """What it asks of the nodes of the server's pool."""
    needs: tuple[str, ...] = ()
    """Techniques that it builds on: they come before it in the table."""
    excludes: tuple[str, ...] = ()
    """Techniques that cannot stand beside it. Said once, by one of two."""
    refusals: Callable[[Situation], Iterator[str]] = lambda _: iter(())
    """What must hold before it may be used: yields a sentence, with the sum, for each thing that does not."""
    holds_up: int = 0
    """Seconds it may take before the engine starts, beyond RESTORE_LIMIT: a rollout's deadline has room for them."""
    doubts: Callable[[Situation, Provided], Iterator[str]] = lambda _situation, _provided: iter(())
    """What a user should know who uses it all the same: yields a sentence for each thing."""
    apply: Callable[[Pod, Situation, Provided], Pod] = lambda pod, _situation, _provided: pod
    """Returns the changed pod."""
