"""The end of a server: first no new requests, then none that run, then none at all."""

from __future__ import annotations

import re
from collections.abc import Iterator

from guardrails.later import Later
from guardrails.pods import SERVING, Container, Pod, gpu_pods, whole
from guardrails.rule import Around, Rule
from guardrails.value import Value

GRACE = 30
"""Seconds that a pod has to end where nobody says otherwise (core/v1, PodSpec)."""
DRAIN = "--shutdown-timeout"
"""vLLM's flag, 0.18.0 and later: seconds for requests that run. Its own value is 0: they are cut off at SIGTERM."""


def _wait(hook: Value) -> int | None:
    """Return for how many seconds a preStop hook waits; None: one cannot see it."""
    if hook["sleep"].mapping():
        return whole(hook.at("sleep", "seconds")) or 0
    if (command := hook["exec"]).mapping():
        words = " ".join(it.text() for it in command["command"].items())
        found = re.search(r"\bsleep ([0-9]{1,6})(?:\s|;|&|$)", words, re.ASCII)
        return int(found[1]) if found else None
    return None if hook.mapping() else 0


def _is_vllm(container: Container) -> bool:
    name = container.image.partition("@")[0].rpartition("/")[2].partition(":")[0]
    return name.startswith("vllm") or "vllm" in container.words


def _drain(container: Container) -> int | None:
    """Return for how long an engine ends requests; None: one cannot see it."""
    said = container.argument(DRAIN)
    if said is not None:
        return int(said) if re.fullmatch(r"[0-9]{1,6}", said, re.ASCII) else None
    return 0 if _is_vllm(container) and container.argument("--config") is None else None


def _shutdown(pod: Pod, around: Around) -> Iterator[str]:
    later = Later()
    grace: int | None = None
    with later:
        given = whole(pod.spec["terminationGracePeriodSeconds"])
        grace = GRACE if given is None else given
    for container in pod.containers:
        with later:
            if container.gpus:
                yield from _ends(container, grace, int(around.config["seconds"]), later)
    yield from later.rest()


def _ends(container: Container, grace: int | None, last: int, later: Later) -> Iterator[str]:
    wait: int | None = None
    drain: int | None = None
    with later:
        wait = _wait(container.value.at("lifecycle", "preStop"))
        if wait == 0:
            yield (
                f"container {container.name}: no preStop hook waits, so it stops while Services still send to it;"
                " add lifecycle.preStop.sleep.seconds, such as 15"
            )
    with later:
        drain = _drain(container)
        if drain == 0:
            yield (
                f"container {container.name}: {DRAIN} is 0, also where it is left out, so requests that run are cut"
                f" off; add {DRAIN}=60 (vLLM 0.18.0 and later)"
            )
    needed = (wait or 0) + (drain or 0) + last
    if grace is not None and (wait or drain) and needed > grace:
        yield (
            f"container {container.name}: it needs {wait or 0} s (preStop) + {drain or 0} s ({DRAIN}) + {last} s (its"
            f" end) = {needed} s, and the pod has {grace} s; raise terminationGracePeriodSeconds"
        )


RULES = (
    Rule(
        id="shutdown-order",
        says="A server waits before it stops, ends the requests that run, and has time for both.",
        why="Endpoints are taken away while it shuts down, so every rollout and every Spot end cuts requests off.",
        source="vllm#24885, kserve#5496, llm-d#927; 5 s for its end: measured, vLLM 0.26.0",
        kinds=SERVING,
        parts=gpu_pods,
        check=_shutdown,
        config={"seconds": 5},
    ),
)
