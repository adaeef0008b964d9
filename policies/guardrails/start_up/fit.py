"""Pods that no node takes, and pods on nodes that they should not hold."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import Any

from guardrails.pods import DAEMON_SET, GPU, WORKLOADS, Pod, gpu_pods, pods, quantity
from guardrails.pools import INSTANCE_TYPE, of_pod
from guardrails.rule import Around, Resource, Rule
from guardrails.value import Value

_ASKED = ("cpu", "memory", "ephemeral-storage")


def _requests(pod: Pod, resource: str) -> Decimal:
    """Return what a pod asks for: containers and sidecars together, or the greatest of those that run first.

    The scheduler's sum (kubernetes/enhancements#753) but for the order of sidecars: all are counted.
    """
    together, greatest = Decimal(0), Decimal(0)
    for key in ("initContainers", "containers"):
        for it in pod.spec[key].items():
            resources = it["resources"]
            asked = resources["requests"][resource]
            amount = quantity(resources["limits"][resource] if asked.is_missing else asked)
            if key == "containers" or it["restartPolicy"].text() == "Always":
                together += amount
            else:
                greatest = max(greatest, amount)
    return max(together, greatest) + quantity(pod.spec["overhead"][resource])


def _fits(pod: Pod, around: Around) -> Iterator[str]:
    known: Mapping[str, Any] = around.config["allocatable"]
    selected = pod.spec["nodeSelector"][INSTANCE_TYPE].text()
    pools = of_pod(pod, around.stack)
    types = [selected] if selected else [kind for pool in pools for kind in pool.values(INSTANCE_TYPE)]
    sized = {kind: known[kind] for kind in types if kind in known}
    if not sized:
        return
    short: dict[str, str] = {}
    for kind, has in sized.items():
        for resource in _ASKED:
            asked, there = (
                _requests(pod, resource),
                quantity(Value(has.get(resource), f"allocatable.{kind}.{resource}")),
            )
            if resource in has and asked > there:
                short.setdefault(kind, f"{resource} {asked:f} > {there:f} allocatable on {kind}")
    if len(short) == len(sized):
        yield f"it fits on no node: {'; '.join(short.values())}; ask for less, or for larger instances"


def _tolerates(pod: Pod, taint: str) -> bool:
    for it in pod.spec["tolerations"].items():
        key = it["key"].text()
        if key == taint or (not key and it["operator"].text() == "Exists"):
            return True
    return False


def _toleration(pod: Pod, around: Around) -> Iterator[str]:
    asked = {name for it in pod.containers for name in _names(it.value)}
    if asked:
        pools = of_pod(pod, around.stack)
        taints = {it["key"].text() for pool in pools for it in pool.node["taints"].items()} or asked
        for taint in sorted(taints):
            if not _tolerates(pod, taint):
                yield f"it asks for {', '.join(sorted(asked))} and does not tolerate the taint {taint}"
        return
    if around.resource.kind == DAEMON_SET:
        return
    for it in pod.spec["tolerations"].items():
        key = it["key"].text()
        if GPU.match(key):
            yield f"it tolerates {key} and asks for no accelerator; take the toleration away"
        elif not key and it["operator"].text() == "Exists" and not pod.spec["nodeSelector"].mapping():
            yield "it tolerates every taint, asks for no accelerator and may run anywhere; narrow the toleration"


def _names(container: Value) -> list[str]:
    resources = container["resources"]
    return [name for key in ("limits", "requests") for name in resources[key].mapping() if GPU.match(name)]


def _any(resource: Resource) -> Iterator[Pod]:
    yield from pods(resource)


RULES = (
    Rule(
        id="requests-fit",
        says="A pod asks for no more than the largest node of its pool has to give.",
        why="Karpenter finds no instance for it, and it stays Pending without an error.",
        source="Karpenter documentation, scheduling",
        kinds=WORKLOADS,
        parts=gpu_pods,
        check=_fits,
        over="stack",
        config={"allocatable": {}},
    ),
    Rule(
        id="gpu-toleration",
        says="Pods with a GPU tolerate the taint of their pool, others do not tolerate it.",
        why="Without it the pod stays Pending; with it another pod keeps a GPU node running for nothing.",
        source="Kubernetes documentation, taints; terraform-aws-eks#3621",
        kinds=WORKLOADS,
        parts=_any,
        check=_toleration,
        over="stack",
    ),
)
