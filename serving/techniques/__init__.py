"""The cold-start techniques, in the order in which they are applied. A new one is one object in one of the modules."""

from collections.abc import Iterator, Mapping, Sequence

from infra.gpu_pools.pool import NodeTechnique
from infra.section import nearest, shown
from serving.cache_key import CacheKey
from serving.engine import PROGRESS_DEADLINE
from serving.pod import Pod, Situation, baseline
from serving.techniques import (
    bytecode_cache,
    cache_restore,
    engine,
    local_weights,
    no_mount,
    node,
    node_cache,
    readiness,
    streaming_loader,
)
from serving.techniques.front import front_proxy, sleep_mode
from serving.techniques.technique import Provided, Technique

_MODULES = (
    front_proxy,
    streaming_loader,
    no_mount,
    node_cache,
    cache_restore,
    bytecode_cache,
    local_weights,
    engine,
    readiness,
    node,
    sleep_mode,
)

TECHNIQUES: Mapping[str, Technique] = {
    found.name: found for module in _MODULES for found in vars(module).values() if isinstance(found, Technique)
}
"""By name, in order: of the modules, and in each as they stand there."""


def doubts(names: Sequence[str], situation: Situation, provided: Provided) -> Iterator[str]:
    """Yield what a user of the named techniques should know."""
    for technique in TECHNIQUES.values():
        if technique.name in names:
            yield from (f"{technique.name}: {doubt}" for doubt in technique.doubts(situation, provided))


def images_beside(names: Sequence[str]) -> tuple[str, ...]:
    """Return the upstream references that the named techniques run beside the engine's."""
    return tuple(image for name in names if (it := TECHNIQUES.get(name)) for image in it.images)


def sidecars_take(names: Sequence[str]) -> tuple[int, int]:
    """Return the millicores and MiB that the sidecars of the named techniques ask for."""
    taken = [TECHNIQUES[name].sidecars_take for name in names if name in TECHNIQUES]
    return sum(cpu for cpu, _ in taken), sum(memory for _, memory in taken)


def progress_deadline(names: Sequence[str]) -> int:
    """Return the seconds that a pod with the named techniques may take to be ready, on the worst path."""
    return PROGRESS_DEADLINE + sum(TECHNIQUES[name].holds_up for name in names if name in TECHNIQUES)


def asked_of_nodes(names: Sequence[str]) -> tuple[NodeTechnique, ...]:
    """Return what the named techniques ask of the nodes of their server's pool, in order of the alphabet."""
    return tuple(sorted(it.node for name in names if (it := TECHNIQUES.get(name)) and it.node))


_ANY = CacheKey(engine="any", gpu="any", model="any", fingerprint="any")


def shaped(names: Sequence[str], situation: Situation) -> Pod:
    """Return the pod with the named techniques as far as settings decide it: what only a stack knows is made up."""
    provided = Provided(
        server="any",
        bucket=situation.model.uri.bucket,
        programs="any",
        key=_ANY,
        proxy_image="any",
        front_programs="any",
        tokens=None,
    )
    return applied(baseline(situation, "any"), names, situation, provided)


def applied(pod: Pod, names: Sequence[str], situation: Situation, provided: Provided) -> Pod:
    """Return the pod with the named techniques, in their own order, whatever the order of the names."""
    for technique in TECHNIQUES.values():
        if technique.name in names:
            pod = technique.apply(pod, situation, provided)
    return pod


def flag_owners(names: Sequence[str]) -> dict[str, str]:
    """Return the flags that the named techniques set, with the technique's name."""
    return {flag: name for name in names if name in TECHNIQUES for flag in TECHNIQUES[name].flags}


def unknown_techniques(names: Sequence[str]) -> Iterator[str]:
    """Yield a sentence for each name that is no technique's."""
    for name in names:
        if name not in TECHNIQUES:
            yield f"no technique {shown(name)}; {nearest(name, list(TECHNIQUES))}"


def refusals(names: Sequence[str], situation: Situation) -> Iterator[str]:
    """Yield why the named techniques (of those that exist) cannot be used."""
    for name in names:
        if name in TECHNIQUES:
            technique = TECHNIQUES[name]
            yield from (f"{name}: needs {other} beside it" for other in technique.needs if other not in names)
            yield from (f"{name}: not together with {other}" for other in technique.excludes if other in names)
            yield from (f"{name}: {reason}" for reason in technique.refusals(situation))
