"""Techniques between an engine that serves and a pod that is ready."""

from dataclasses import replace

from serving import programs
from serving.budget.baseline import probe_lag
from serving.budget.timeline import POD_STARTS
from serving.engine import ROOT
from serving.pod import Pod, Situation
from serving.techniques.technique import Effect, Provided, Technique, taking

FAST_PERIOD = 1
"""Seconds: the least that kubelet takes."""


def _fast(pod: Pod, _situation: Situation, _provided: Provided) -> Pod:
    return replace(pod, period=FAST_PERIOD)


FAST_PROBES = Technique(
    name="fast-probes",
    effects=(
        Effect(
            phase="readiness",
            starts=POD_STARTS,
            seconds=taking(probe_lag(FAST_PERIOD)),
            evidence="estimated",
            source="article 000: 7 s of a period of 10 s, so a tenth of it",
        ),
    ),
    apply=_fast,
)

WARM_UP_TIMEOUT = 60
"""Seconds that the first request may take: kernels that nobody built before are built then."""


def _warm_up(pod: Pod, situation: Situation, _provided: Provided) -> Pod:
    command = ["python3", "-S", "-B", programs.path("ready"), ROOT, str(pod.flags["port"]), situation.model.served_name]
    return replace(pod, started={"exec": {"command": command}, "timeoutSeconds": WARM_UP_TIMEOUT})


WARM_UP_REQUEST = Technique(
    # of no preset: 16-25 ms instead of 45-79 ms for the first request (gpu.md 2)
    name="warm-up-request",
    effects=(),
    needs=("node-cache",),
    apply=_warm_up,
)
