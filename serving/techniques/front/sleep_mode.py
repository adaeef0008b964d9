"""sleep-mode: an engine that nobody needs gives its GPU memory back, and is there again a second after a request.

It is the last of all techniques: what it changes of the proxy is what front-proxy has left. Whether host memory holds
what a sleep pins is the budget's to say (serving.budget.host_memory).
"""

from collections.abc import Iterator
from dataclasses import replace

from infra.instances import InstanceType
from serving.budget.baseline import priming_seconds, wake_seconds
from serving.budget.host_memory import SLEEP_MODE as SLEEP_MODE_NAME
from serving.budget.timeline import POD_STARTS
from serving.front import AWAKE_LABEL, containers
from serving.pod import Pod, Situation
from serving.techniques.front.front_proxy import proxied
from serving.techniques.technique import Effect, Provided, Technique


def _wake(_before: float, situation: Situation, _kind: InstanceType) -> float:
    return wake_seconds(situation)


def _primed(_before: float, situation: Situation, _kind: InstanceType) -> float:
    return priming_seconds(situation)


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


CALM = 0.85
"""gpuMemoryUtilization with which the article's server slept and woke. With 0.90 it went into a crash loop, 56.77 GiB
asked of 55.68 free (article 000 5.4; of the same kind vllm#40256, #48680). Not seen with 8B on an H200 (gpu.md 6)."""


def _refusals(situation: Situation) -> Iterator[str]:
    flag = "disable-log-stats"
    if situation.engine.args.get(flag) in (True, "true"):
        yield f"engine.args.{flag} takes away the gauges that tell the agent that nothing runs: it would never sleep"


def _doubts(situation: Situation, _provided: Provided) -> Iterator[str]:
    if situation.engine.gpu_memory_utilization > CALM:
        yield (
            f"engine.gpuMemoryUtilization {situation.engine.gpu_memory_utilization:g} > {CALM}: with sleep mode the"
            f" article's server ran out of GPU memory at 0.9 and not at {CALM}"
        )
    kind = situation.pool.types[0]
    price = situation.pool.price(kind.name, situation.region)
    cost = f"{price.usd:.2f} USD an hour on-demand" if price else "the price of its node"
    yield (
        f"a sleeping server costs what it costs awake ({cost} on {kind.name}); sleep pays when servers share a GPU,"
        " which is a later capability: until then it buys a return in a second, and idle.schedule saves the money"
    )


SLEEP_MODE = Technique(
    name=SLEEP_MODE_NAME,
    effects=(
        Effect(
            phase="wake",
            starts=("wake",),
            seconds=_wake,
            evidence="measured",
            source="article 000: 0.97 s; gpu.md 9: 0.68-0.86 s for 15.27 GiB on an H200",
        ),
        Effect(
            phase="priming",
            starts=POD_STARTS,
            seconds=_primed,
            evidence="estimated",
            source="article 000: first sleep 12.8 s for 31 GiB, by size (an H200: 12.7 s for 15.3, gpu.md 9); a wake",
        ),
    ),
    sidecars_take=(containers.AGENT_CPU, containers.AGENT_MEMORY),
    flags=("enable-sleep-mode",),
    needs=("front-proxy",),
    refusals=_refusals,
    doubts=_doubts,
    apply=_apply,
)
