"""The cold-start techniques, in the order in which they are applied. A new one is one object in this table."""

from collections.abc import Iterator, Mapping, Sequence

from infra.section import nearest, shown
from serving.pod import Pod, Situation
from serving.techniques.bytecode_cache import BYTECODE_CACHE
from serving.techniques.cache_restore import CACHE_RESTORE
from serving.techniques.front.front_proxy import FRONT_PROXY
from serving.techniques.front.sleep_mode import SLEEP_MODE
from serving.techniques.node_cache import NODE_CACHE
from serving.techniques.streaming_loader import STREAMING_LOADER
from serving.techniques.technique import Provided, Technique

TECHNIQUES: Mapping[str, Technique] = {
    technique.name: technique
    for technique in (FRONT_PROXY, STREAMING_LOADER, NODE_CACHE, CACHE_RESTORE, BYTECODE_CACHE, SLEEP_MODE)
}


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
