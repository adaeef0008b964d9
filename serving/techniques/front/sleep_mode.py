"""sleep-mode: an engine that nobody needs gives its GPU memory back, and is there again a second after a request.

It is the last of all techniques: what it changes of the proxy is what front-proxy has left.
"""

from collections.abc import Iterator
from dataclasses import replace

from infra.instances import InstanceType
from serving.front import AWAKE_LABEL, containers
from serving.model import GIB
from serving.pod import Pod, Situation
from serving.techniques.front.front_proxy import proxied
from serving.techniques.technique import Effect, Provided, Technique

PINNED = 1.40
"""Host memory over weights after a sleep: it is pinned at the first one and kept for ever (gpu.md 9: 21.6 GiB over
15.27). The article slept 31 GiB on a g7e.2xlarge."""

WORST_PINNED = 1.92
"""The worst that was published: blocks are rounded up to powers of two (vllm#53042, vllm#56410)."""

AWAKE_MEMORY = 3.6
"""GiB of host memory before the first sleep (gpu.md 9)."""

FIRST_SLEEP = 12.8 / 31.22
"""Seconds for each GiB of weights."""

WAKE = 18.0
"""GB/s, the slowest of the wakes measured."""


def _memory(situation: Situation, over: float) -> tuple[float, str]:
    weights = situation.model.size / GIB
    total = weights * over + AWAKE_MEMORY
    sum_ = f"{weights:.1f} GiB of weights x {over:.2f} pinned + {AWAKE_MEMORY} GiB base = {total:.1f} GiB"
    return total, f"host memory {sum_} > {situation.resources.memory_gib} GiB of resources.memoryGib"


def _refusals(situation: Situation) -> Iterator[str]:
    total, said = _memory(situation, PINNED)
    if total > situation.resources.memory_gib:
        yield said


def warnings(situation: Situation) -> Iterator[str]:
    """Yield what may go wrong: between what was measured to work and the worst that was published."""
    least, _ = _memory(situation, PINNED)
    worst, said = _memory(situation, WORST_PINNED)
    if least <= situation.resources.memory_gib < worst:
        yield f"{said}, in the worst case that was published"


def _wake(_before: float, situation: Situation, _kind: InstanceType) -> float:
    return situation.model.size / 10**9 / WAKE


def _primed(before: float, situation: Situation, kind: InstanceType) -> float:
    return before + FIRST_SLEEP * situation.model.size / GIB + _wake(0.0, situation, kind)


def _apply(pod: Pod, situation: Situation, provided: Provided) -> Pod:
    external = {AWAKE_LABEL: "true"} if situation.sleep.wake == "external" else {}
    return replace(
        proxied(
            replace(
                pod,
                flags={**pod.flags, "enable-sleep-mode": True},
                # without it /sleep, /wake_up and /is_sleeping do not exist, and the flag is for nothing (VLM-10)
                env={**pod.env, "VLLM_SERVER_DEV_MODE": "1"},
            ),
            situation,
            provided,
            sleeps=True,
        ),
        before_stop=containers.engine_stop(situation.shutdown.drain_seconds),
        labels={**pod.labels, **external},
        selected={**pod.selected, **external},
    )


SLEEP_MODE = Technique(
    name="sleep-mode",
    effects=(
        Effect(
            phase="wake",
            starts=("wake",),
            seconds=_wake,
            evidence="measured",
            source="gpu.md 9: 0.68-0.86 s for 15.27 GiB on an H200, 18-26 GB/s",
        ),
        Effect(
            phase="readiness",
            starts=("fresh node", "warm node", "restart"),
            seconds=_primed,
            evidence="measured",
            source="article 000: first sleep 12.8 s for 31 GiB (12.7 s for 15.3 GiB on an H200, gpu.md 9), then a wake",
        ),
    ),
    flags=("enable-sleep-mode",),
    needs=("front-proxy",),
    refusals=_refusals,
    apply=_apply,
)
