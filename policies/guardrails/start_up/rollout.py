"""Rollouts for which there is no GPU, or no time."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator

from guardrails.later import Later
from guardrails.pods import DEPLOYMENT, GPU, SERVING, Pod, gpu_pods, quantity, whole
from guardrails.rule import Around, Resource, Rule
from guardrails.start_up.instances import kinds
from guardrails.start_up.places import Place, places
from guardrails.start_up.probes import DEFAULT_LIMIT, LIMIT, start_limit
from guardrails.value import MalformedError, Value

DEADLINE = 600
"""Seconds that a Deployment has to make progress where nobody says otherwise (apps/v1)."""


def _share(value: Value, replicas: int, *, up: bool) -> int:
    """Return a number of pods, which may be given as a share of all; 25 % where nothing is (apps/v1)."""
    known = value.known()
    text = "25%" if known is None else known
    if not isinstance(text, str):
        return whole(value) or 0
    if not re.fullmatch(r"[0-9]{1,5}%", text, re.ASCII):
        raise MalformedError(f"{value.path}: expected a whole number or a share such as 25%, found {text!r}")
    part = replicas * int(text[:-1]) / 100
    return math.ceil(part) if up else math.floor(part)


def _replicas(resource: Resource) -> int:
    given = whole(resource.props.at("spec", "replicas"))
    return 1 if given is None else given


def _surge(resource: Resource) -> int:
    """Return how many pods a rollout starts before it ends one; 0: it ends one first, and starts on its GPU."""
    strategy = resource.props.at("spec", "strategy")
    replicas = _replicas(resource)
    if strategy["type"].text() == "Recreate" or replicas < 1:
        return 0
    surge = _share(strategy.at("rollingUpdate", "maxSurge"), replicas, up=True)
    fewer = _share(strategy.at("rollingUpdate", "maxUnavailable"), replicas, up=False)
    return 0 if fewer > 0 else surge


def deployed(resource: Resource) -> Iterator[Pod]:
    """Yield the pod of a Deployment that asks for an accelerator."""
    if resource.kind == DEPLOYMENT:
        yield from gpu_pods(resource)


MEND = "use strategy Recreate, or maxSurge 0 with maxUnavailable 1"


def _rollout(pod: Pod, around: Around) -> Iterator[str]:
    surge = _surge(around.resource)
    if not surge:
        return
    mine = _places(pod, around)
    more = surge * pod.gpus
    if not mine:
        if not around.config["poolsElsewhere"]:
            yield f"a rollout needs {_gpus(more)} more, and no NodePool of this stack takes the pod; {MEND}"
        return
    rooms = [_room(it) for it in mine]
    if None in rooms:
        return
    room = sum(it for it in rooms if it is not None)
    later = Later()
    here = {it.pool.name for it in mine}
    used = 0
    for resource in around.of(*SERVING):
        with later.of(resource.name):
            for other in gpu_pods(resource):
                if here & {it.pool.name for it in _places(other, around)}:
                    used += other.gpus * _replicas(resource)
    if used + more > room:
        names = ", ".join(sorted(here))
        yield (
            f"a rollout needs {used} + {more} = {_gpus(used + more)}, and NodePool {names} may have {room};"
            f" {MEND}, or raise the limit"
        )
    # what was not counted needs more still
    yield from later.rest()


def _places(pod: Pod, around: Around) -> list[Place]:
    return places(pod, around.stack, kinds({}))


def _room(place: Place) -> int | None:
    """Return how many accelerators a NodePool may have; None: as many as there are, or nobody can tell."""
    spec = place.pool.spec
    counts = [int(quantity(Value(it))) for kind in place.kinds for name, it in kind.has.items() if GPU.match(name)]
    nodes = [spec["replicas"], spec["limits"]["nodes"]] if counts and place.complete else []
    given = [int(quantity(it)) * max(counts) for it in nodes if not it.is_missing]
    limit = place.pool.gpu_limit
    return min([*given, *([] if limit is None else [limit])], default=None)


def _gpus(count: int) -> str:
    return f"{count} accelerator{'' if count == 1 else 's'}"


def _progress(pod: Pod, around: Around) -> Iterator[str]:
    given = whole(around.resource.props.at("spec", "progressDeadlineSeconds"))
    deadline = DEADLINE if given is None else given
    later = Later()
    for container in pod.containers:
        with later:
            if not container.gpus:
                continue
            limit = start_limit(container, around.config["seconds"])
            if deadline < limit:
                yield (
                    f"progressDeadlineSeconds is {deadline}, and container {container.name} may take {limit} s to start"
                    f" ({LIMIT}); set it to {limit} or more, with the time for a node and its images"
                )
    yield from later.rest()


RULES = (
    Rule(
        id="gpu-rollout",
        says="A Deployment with GPUs ends a pod before it starts the next, or has GPUs for both.",
        why="The new pod waits for a GPU that the old one holds, for ever.",
        source="LLMKube#192, airunway#400, production-stack#103",
        kinds=frozenset({DEPLOYMENT}),
        parts=deployed,
        check=_rollout,
        over="stack",
        config={"poolsElsewhere": False},
    ),
    Rule(
        id="progress-deadline",
        says="A Deployment with GPUs has as long to make progress as its engine has to start.",
        why="A cold start that goes well is called failed, and `pulumi up` with it.",
        source="airunway#400; Kubernetes documentation, Deployments; its default is 600 s",
        kinds=frozenset({DEPLOYMENT}),
        parts=deployed,
        check=_progress,
        config={"seconds": DEFAULT_LIMIT},
    ),
)
