"""The three probes of an engine."""

from math import ceil

from serving.engine import START_LIMIT, STARTUP_SLACK
from serving.pod import Manifest, Pod

STARTUP_TIMEOUT = 5
READY_TIMEOUT = 2
"""Seconds."""

READY_SECONDS = 30
"""For which an engine may leave questions unanswered before its pod is not ready, however often it is asked.

Three questions of Kubernetes' default period. Liveness waits 94 to 104 s, because kernel builds stall the server for a
minute (dynamo PR#14735). Such a stall must not cost an engine that took minutes to start, but the second half of it is
better spent at another replica; and of an engine that hangs for good, clients are rid a minute before its end."""


def readiness(period: int, seconds: int = READY_SECONDS) -> Manifest:
    """Return how a readiness probe asks each `period`, and gives up after `seconds` without an answer."""
    # a question that is not answered takes its whole time-out, and the next one comes after it
    failures = ceil(seconds / max(period, READY_TIMEOUT))
    return {"periodSeconds": period, "timeoutSeconds": READY_TIMEOUT, "failureThreshold": failures}


def probes(pod: Pod, start_limit: int = START_LIMIT) -> Manifest:
    """Return the probes of a pod, for a start limit in seconds.

    Until the engine serves, its port refuses; the startup probe alone decides before that. For how long readiness and
    liveness bear with it: `READY_SECONDS`.
    """
    return {
        "startupProbe": {
            "periodSeconds": pod.period,
            "timeoutSeconds": STARTUP_TIMEOUT,
            **pod.started,
            "failureThreshold": ceil((start_limit + STARTUP_SLACK) / pod.period),
        },
        **({"readinessProbe": {**pod.serving, **readiness(pod.period)}} if pod.serving else {}),
        "livenessProbe": {**pod.alive, "periodSeconds": 10, "timeoutSeconds": 5, "failureThreshold": 10},
    }
