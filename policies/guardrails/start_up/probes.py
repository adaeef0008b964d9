"""What kills an engine before it is ready, or keeps it from starting."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator

from guardrails.pods import WORKLOADS, Container, Pod, containers, gpu_pods, whole
from guardrails.rule import Around, Rule
from guardrails.value import MalformedError, Value

LIMIT = "VLLM_ENGINE_READY_TIMEOUT_S"
DEFAULT_LIMIT = 600
"""Seconds that vLLM waits for its engine where nobody says otherwise (`core_client.py:620`, 0.26.0 and 0.33.0)."""


def start_limit(container: Container, default: float) -> int:
    """Return how many seconds an engine has to start.

    Raises:
        MalformedError: vLLM cannot read what its variable says, and ends at once.
    """
    said = container.env(LIMIT)
    text = said.text().strip()
    if not text:
        return int(default)
    if not re.fullmatch(r"[0-9]{1,9}", text, re.ASCII):
        raise MalformedError(f"{said.path}: {LIMIT} is {text!r}; write whole seconds, such as 1800")
    return int(text)


def _times(probe: Value) -> tuple[int, int, int]:
    """Return delay, period and failures of a probe; a missing value and 0 are Kubernetes' own (core/v1, Probe)."""
    return (
        whole(probe["initialDelaySeconds"]) or 0,
        whole(probe["periodSeconds"]) or 10,
        whole(probe["failureThreshold"]) or 3,
    )


def _kills(probe: Value) -> int:
    """Return after how many seconds a probe gives up at the earliest: the first question comes after the delay."""
    delay, period, failures = _times(probe)
    return delay + period * (failures - 1)


def _startup(container: Container, around: Around) -> Iterator[str]:
    if not container.gpus:
        return
    startup, liveness = container.value["startupProbe"], container.value["livenessProbe"]
    if startup.is_missing and liveness.is_missing:
        return
    limit = start_limit(container, around.config["seconds"])
    if startup.is_missing:
        if (after := _kills(liveness)) < limit:
            yield (
                f"container {container.name}: its livenessProbe kills it after {after} s and no startupProbe holds that"
                f" back; add a startupProbe that bears {limit} s ({LIMIT})"
            )
    elif (after := _kills(startup)) < limit:
        delay, period, _ = _times(startup)
        enough = math.ceil((limit - delay) / period) + 1
        yield (
            f"container {container.name}: its startupProbe gives up after {after} s, the engine after {limit} s"
            f" ({LIMIT}); raise failureThreshold to {enough}"
        )


def _links(pod: Pod, _: Around) -> Iterator[str]:
    if pod.spec["enableServiceLinks"].flag() is not False:
        yield "enableServiceLinks is true, also where it is left out; set it to false"


RULES = (
    Rule(
        id="startup-probe",
        says="A startup probe lets the engine take its whole start-up limit.",
        why="A shorter one, or liveness alone, kills every cold start for ever, and each time pays for the GPU.",
        source="kserve#5062, kube-agents#712",
        kinds=WORKLOADS,
        parts=containers,
        check=_startup,
        config={"seconds": DEFAULT_LIMIT},
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
)
