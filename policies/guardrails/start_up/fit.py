"""Pods that no node takes."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal

from guardrails.later import Later
from guardrails.pods import GPU, WORKLOADS, Pod, gpu_pods, quantity
from guardrails.rule import Around, Rule
from guardrails.start_up.instances import Kind, kinds
from guardrails.start_up.places import named, places
from guardrails.value import Value

COUNTED = frozenset({"nvidia.com/gpu", "amd.com/gpu"})
"""Accelerators of which a type that lists none has none."""
_SHOWN = 3
"""Instance types in a message."""


def _asked(resources: Value, resource: str) -> Decimal:
    """Return what a request says, or the limit in its place."""
    request = resources["requests"][resource]
    return quantity(resources["limits"][resource] if request.is_missing else request)


def _requests(pod: Pod, resource: str) -> Decimal:
    """Return what a pod asks for, as the scheduler counts (kubernetes/enhancements#753).

    Containers and sidecars add up; one that runs first needs its own beside the sidecars that started before it.
    What the pod asks for as a whole comes before both.
    """
    overhead = quantity(pod.spec["overhead"][resource])
    given = pod.spec["resources"]
    if not given["requests"][resource].is_missing:
        return quantity(given["requests"][resource]) + overhead
    sidecars, first = Decimal(0), Decimal(0)
    for it in pod.spec["initContainers"].items():
        amount = _asked(it["resources"], resource)
        if it["restartPolicy"].text() == "Always":
            sidecars += amount
            first = max(first, sidecars)
        else:
            first = max(first, sidecars + amount)
    together = sidecars + sum(_asked(it["resources"], resource) for it in pod.spec["containers"].items())
    return max(first, together) + overhead


def _on(pod: Pod, around: Around) -> list[Kind]:
    """Return the instance types on which a pod may land; none where one of them is not known here."""
    known = kinds(around.config["allocatable"])
    found = places(pod, around.stack, known)
    if not found:
        return named(pod, known)
    if not all(it.complete for it in found):
        return []
    return list({kind.name: kind for it in found for kind in it.kinds}.values())


def _fits(pod: Pod, around: Around) -> Iterator[str]:
    types = _on(pod, around)
    if not types:
        return
    agents = Value(around.config["agents"], "agents")
    asked: dict[str, Decimal] = {}
    later = Later()
    names = {name: None for it in types for name in it.has}
    for resource in [*names, *(name for name in _accelerators(pod, later) if name not in names)]:
        with later:
            asked[resource] = _requests(pod, resource)
    short: dict[str, str] = {}
    for kind in types:
        for resource, amount in asked.items():
            if resource not in kind.has and resource not in COUNTED:
                # nobody says how much of it there is: disks are the NodeClass's, slices of a GPU a setting's
                continue
            there = quantity(Value(kind.has.get(resource), f"allocatable.{kind.name}.{resource}"))
            beside = quantity(agents[resource])
            if amount and amount + beside > there:
                more = f" + {_shown(resource, beside)} of agents" if beside else ""
                sum_ = f"{_shown(resource, amount)}{more} > {_shown(resource, there)}"
                short[kind.name] = f"{resource} {sum_} allocatable on {kind.name}"
                break
    if len(short) == len(types):
        listed = list(short.values())
        rest = f"; and {len(listed) - _SHOWN} more types" if len(listed) > _SHOWN else ""
        yield f"it fits on no node: {'; '.join(listed[:_SHOWN])}{rest}; ask for less, or for larger instances"
    yield from later.rest()


def _accelerators(pod: Pod, later: Later) -> list[str]:
    """Return the accelerators for which a pod asks, by resource."""
    found: dict[str, None] = {}
    for it in pod.containers:
        with later:
            found.update(dict.fromkeys(accelerators(it.value)))
    return list(found)


def accelerators(container: Value) -> list[str]:
    """Return the accelerators for which a container asks, by resource."""
    resources = container["resources"]
    return [name for key in ("limits", "requests") for name in resources[key].mapping() if GPU.match(name)]


def _shown(resource: str, amount: Decimal) -> str:
    if resource in ("memory", "ephemeral-storage"):
        return f"{amount / 2**20:.0f}Mi"
    return f"{amount.normalize():f}"


RULES = (
    Rule(
        id="requests-fit",
        says="A pod asks for no more than the largest node of its pool has to give.",
        why="Karpenter finds no instance for it, and it stays Pending without an error.",
        source="karpenter-provider-aws#8064; sizes: Karpenter documentation v1.14, instance types",
        kinds=WORKLOADS,
        parts=gpu_pods,
        check=_fits,
        over="stack",
        config={"allocatable": {}, "agents": {}},
    ),
)
