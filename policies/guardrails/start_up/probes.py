"""What kills an engine before it is ready, or cuts off its last requests."""

from __future__ import annotations

from collections.abc import Iterator

from guardrails.pods import SERVING, WORKLOADS, Container, Pod, gpu_pods
from guardrails.rule import Around, Resource, Rule
from guardrails.value import Value

LIMIT = "VLLM_ENGINE_READY_TIMEOUT_S"
DEFAULT_LIMIT = 600
"""Seconds that vLLM waits for its engine where nobody says otherwise (`core_client.py:620`, 0.26.0 and 0.33.0)."""


def gpu_containers(resource: Resource) -> Iterator[Container]:
    """Yield the containers that ask for an accelerator."""
    for pod in gpu_pods(resource):
        yield from (it for it in pod.containers if it.gpus)


def _seconds(probe: Value) -> float:
    """Return for how long a probe may fail: Kubernetes' own values where none are given (core/v1, Probe)."""
    delay = probe["initialDelaySeconds"].number() or 0
    period = probe["periodSeconds"].number() or 10
    return delay + period * (probe["failureThreshold"].number() or 3)


def _limit(container: Container) -> float:
    said = container.env(LIMIT)
    text = said.text()
    return float(text) if text.isdigit() else DEFAULT_LIMIT


def _startup(container: Container, _: Around) -> Iterator[str]:
    startup, liveness = container.value["startupProbe"], container.value["livenessProbe"]
    limit = _limit(container)
    if startup.is_missing and not liveness.is_missing:
        yield (
            f"container {container.name}: its livenessProbe kills it after {_seconds(liveness):.0f} s and nothing holds"
            f" it back; add a startupProbe of {limit:.0f} s or more"
        )
    elif not startup.is_missing and _seconds(startup) < limit:
        yield (
            f"container {container.name}: its startupProbe gives up after {_seconds(startup):.0f} s, the engine after"
            f" {limit:.0f} s ({LIMIT}); raise failureThreshold"
        )


def _links(pod: Pod, _: Around) -> Iterator[str]:
    if pod.spec["enableServiceLinks"].flag() is not False:
        yield "enableServiceLinks is on; set it to false"


def _shutdown(pod: Pod, _: Around) -> Iterator[str]:
    grace = pod.spec["terminationGracePeriodSeconds"].number()
    whole = 30.0 if grace is None else grace
    for container in pod.containers:
        if not container.gpus:
            continue
        hook = container.value.at("lifecycle", "preStop")
        if hook.is_missing:
            yield f"container {container.name}: no preStop hook, so it stops while Services still send to it"
        wait = hook.at("sleep", "seconds").number() or 0
        if wait >= whole:
            yield (
                f"container {container.name}: preStop takes {wait:.0f} s of the pod's {whole:.0f} s, which leaves none"
                " to end requests; raise terminationGracePeriodSeconds"
            )


RULES = (
    Rule(
        id="startup-probe",
        says="A startup probe lets the engine take its whole start-up limit.",
        why="A shorter one, or liveness alone, kills every cold start for ever, and each time pays for the GPU.",
        source="kserve#5062, kube-agents#712",
        kinds=WORKLOADS,
        parts=gpu_containers,
        check=_startup,
    ),
    Rule(
        id="service-links",
        says="Pods with a GPU have no service links.",
        why="A Service called vllm sets VLLM_PORT to an address, and vLLM ends at start.",
        source="vllm#34199",
        kinds=WORKLOADS,
        parts=gpu_pods,
        check=_links,
    ),
    Rule(
        id="shutdown-order",
        says="A server waits before it stops, and has time left for the requests that run.",
        why="Endpoints are taken away while it shuts down, so every rollout and every Spot end cuts requests off.",
        source="Kubernetes documentation, pod termination",
        kinds=SERVING,
        parts=gpu_pods,
        check=_shutdown,
    ),
)
