"""The three probes of an engine."""

from math import ceil

from serving.engine import STARTUP_PERIOD, STARTUP_SLACK
from serving.pod import HEALTH, Manifest


def probes(start_limit: int, started: Manifest) -> Manifest:
    """Return the three probes for a start limit in seconds. `started`: what the first of them asks.

    Until the engine serves, its port refuses; the startup probe alone decides before that. Readiness gives up after
    6 s, liveness after 100 s: kernel builds stall the server for a minute (dynamo PR#14735).
    """
    health = {"httpGet": HEALTH}
    return {
        "startupProbe": {
            **started,
            "periodSeconds": STARTUP_PERIOD,
            "timeoutSeconds": STARTUP_PERIOD,
            "failureThreshold": ceil((start_limit + STARTUP_SLACK) / STARTUP_PERIOD),
        },
        "readinessProbe": {**health, "periodSeconds": 2, "timeoutSeconds": 2, "failureThreshold": 3},
        "livenessProbe": {**health, "periodSeconds": 10, "timeoutSeconds": 5, "failureThreshold": 10},
    }
