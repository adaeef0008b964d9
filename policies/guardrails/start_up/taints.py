"""GPU nodes that a pod cannot enter, and pods on GPU nodes that should not hold them."""

from __future__ import annotations

from collections.abc import Iterator

from guardrails.later import Later
from guardrails.pods import DAEMON_SET, GPU, WORKLOADS, Pod, pods
from guardrails.pools import gpu_pools
from guardrails.rule import Around, Rule
from guardrails.start_up.fit import accelerators
from guardrails.start_up.instances import kinds
from guardrails.start_up.places import selected, tolerates, untolerated


def _toleration(pod: Pod, around: Around) -> Iterator[str]:
    asked: dict[str, None] = {}
    later = Later()
    for it in pod.containers:
        with later:
            asked.update(dict.fromkeys(accelerators(it.value)))
    if asked:
        with later:
            yield from _kept_away(pod, sorted(asked), around)
        yield from later.rest()
        return
    # it may ask for one: then what it tolerates is right
    yield from later.rest()
    by_claim = any(True for _ in pod.spec["resourceClaims"].items())
    if around.resource.kind == DAEMON_SET or by_claim or _name(around) in around.config["withoutGpu"]:
        return
    yield from _holds(pod, around)


def _kept_away(pod: Pod, asked: list[str], around: Around) -> Iterator[str]:
    places = list(selected(pod, around.stack, kinds({})))
    kept = [(it.pool.name, untolerated(pod, it.pool)) for it in places]
    if kept and all(taints for _, taints in kept):
        name, taints = min(kept, key=lambda it: len(it[1]))
        yield (
            f"it asks for {', '.join(asked)} and does not tolerate {', '.join(taints)} of NodePool {name};"
            " add a toleration with operator Exists"
        )
    if kept or not around.config["taintedElsewhere"]:
        return
    for taint in asked:
        if not any(tolerates(it, taint) for it in pod.spec["tolerations"].items()):
            yield (
                f"it asks for {taint} and does not tolerate the taint of that name, which GPU nodes have by custom;"
                " add a toleration with operator Exists"
            )


def _holds(pod: Pod, around: Around) -> Iterator[str]:
    """Yield why a pod without an accelerator may keep a GPU node."""
    later = Later()
    taints = set()
    for resource in around.stack:
        with later.of(resource.name):
            for pool in gpu_pools(resource):
                taints |= {it["key"].text() for it in pool.node["taints"].items()}
    for it in pod.spec["tolerations"].items():
        with later:
            key, operator, effect = (it[name].text() for name in ("key", "operator", "effect"))
            if key and (GPU.match(key) or key in taints):
                yield (
                    f"it tolerates {key} and asks for no accelerator; take the toleration away,"
                    f" or name {_name(around)} in withoutGpu"
                )
            elif not key and operator == "Exists" and effect in ("", "NoSchedule") and not _bound(pod):
                yield (
                    "it tolerates every taint, asks for no accelerator and may run anywhere; narrow the toleration,"
                    f" or name {_name(around)} in withoutGpu"
                )
    yield from later.rest()


def _bound(pod: Pod) -> bool:
    """Return whether a pod says on which nodes it runs."""
    required = pod.spec.at("affinity", "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution")
    return bool(pod.spec["nodeSelector"].mapping() or required.mapping() or pod.spec["nodeName"].text())


def _name(around: Around) -> str:
    """Return the name of the workload as Kubernetes has it, or as Pulumi has."""
    given = around.resource.props.at("metadata", "name")
    return around.resource.name if given.is_missing else given.text()


RULES = (
    Rule(
        id="gpu-toleration",
        says="Pods with a GPU tolerate the taints of their pool, others do not tolerate them.",
        why="Without it the pod stays Pending; with it another pod keeps a GPU node running for nothing.",
        source="Kubernetes documentation, taints; terraform-aws-eks#3621, k8s-device-plugin#68",
        kinds=WORKLOADS,
        parts=pods,
        check=_toleration,
        over="stack",
        config={"taintedElsewhere": True, "withoutGpu": []},
    ),
)
