"""The three probes of an engine."""

from math import ceil

from serving.engine import START_LIMIT, STARTUP_SLACK
from serving.pod import Manifest, Pod

STARTUP_TIMEOUT = 5
READY_TIMEOUT = 2
"""Seconds."""


def probes(pod: Pod, start_limit: int = START_LIMIT) -> Manifest:
    """Return the probes of a pod, for a start limit in seconds.

    Until the engine serves, its port refuses; the startup probe alone decides before that. Readiness gives up after
    three questions, liveness after 100 s: kernel builds stall the server for a minute (dynamo PR#14735).
    """
    readiness = {"periodSeconds": pod.period, "timeoutSeconds": READY_TIMEOUT, "failureThreshold": 3}
    return {
        "startupProbe": {
            "periodSeconds": pod.period,
            "timeoutSeconds": STARTUP_TIMEOUT,
            **pod.started,
            "failureThreshold": ceil((start_limit + STARTUP_SLACK) / pod.period),
        },
        **({"readinessProbe": {**pod.serving, **readiness}} if pod.serving else {}),
        "livenessProbe": {**pod.alive, "periodSeconds": 10, "timeoutSeconds": 5, "failureThreshold": 10},
    }
