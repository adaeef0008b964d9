"""Rollouts for which there is no GPU."""

from __future__ import annotations

import math
from collections.abc import Iterator

from guardrails.pods import DEPLOYMENT, Pod, gpu_pods
from guardrails.pools import of_pod
from guardrails.rule import Around, Resource, Rule
from guardrails.value import Value


def _share(value: Value, replicas: int, *, up: bool) -> int:
    """Return a number of pods, which may be given as a share of all; 25 % where nothing is (apps/v1)."""
    known = value.known()
    text = "25%" if known is None else str(known)
    if text.endswith("%"):
        part = replicas * float(text[:-1]) / 100
        return math.ceil(part) if up else math.floor(part)
    return int(float(text))


def deployed(resource: Resource) -> Iterator[Pod]:
    """Yield the pod of a Deployment that asks for an accelerator."""
    if resource.kind == DEPLOYMENT:
        yield from gpu_pods(resource)


def _rollout(pod: Pod, around: Around) -> Iterator[str]:
    spec = around.resource.props["spec"]
    strategy = spec["strategy"]
    given = spec["replicas"].number()
    replicas = 1 if given is None else int(given)
    if strategy["type"].text() == "Recreate" or not replicas:
        return
    surge = _share(strategy.at("rollingUpdate", "maxSurge"), replicas, up=True)
    if not surge:
        return
    pools = of_pod(pod, around.stack)
    if len(pools) != 1:
        yield (
            f"a rollout needs {surge * pod.gpus} more accelerators, and no one NodePool of this stack says that there"
            " are; use Recreate, or maxSurge 0"
        )
        return
    (pool,) = pools
    limit = pool.gpu_limit
    used = sum(_held(other, around) for other in _beside(pool.name, around))
    needed = used + surge * pod.gpus
    if limit is not None and needed > limit:
        yield (
            f"a rollout needs {used} + {surge * pod.gpus} = {needed} accelerators, and NodePool {pool.name} has"
            f" {limit}; use Recreate, maxSurge 0, or a higher limit"
        )


def _beside(pool: str, around: Around) -> Iterator[tuple[Resource, Pod]]:
    """Yield all Deployments of a pool."""
    for resource in around.of(DEPLOYMENT):
        for pod in gpu_pods(resource):
            if [it.name for it in of_pod(pod, around.stack)] == [pool]:
                yield resource, pod


def _held(of: tuple[Resource, Pod], _: Around) -> int:
    resource, pod = of
    given = resource.props.at("spec", "replicas").number()
    return pod.gpus * (1 if given is None else int(given))


RULES = (
    Rule(
        id="gpu-rollout",
        says="A Deployment with GPUs is rolled out by Recreate, or has GPUs for the pods beside the old ones.",
        why="The new pod waits for a GPU that the old one holds, for ever.",
        source="LLMKube#192, production-stack#103",
        kinds=frozenset({DEPLOYMENT}),
        parts=deployed,
        check=_rollout,
        over="stack",
    ),
)
