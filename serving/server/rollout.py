"""How the pods of a server are replaced, spread and kept."""

from collections.abc import Mapping

from serving.pod import Manifest
from serving.server import ServerSettings

HOST, ZONE = "kubernetes.io/hostname", "topology.kubernetes.io/zone"


def strategy(settings: ServerSettings) -> Manifest:
    """Return the Deployment's strategy, always written out.

    Kubernetes' default, a quarter more and a quarter less, is one more and none less with one replica: the new pod then
    waits for the GPU that the old one holds (VLM-03). A surge needs room in the pool for one pod more.
    """
    if settings.rollout == "surge":
        return {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}}
    return {"type": "Recreate"}


def spread(labels: Mapping[str, str]) -> Manifest:
    """Return the part of the pod's spec that spreads replicas.

    A wish, not a rule: a pod that waits for a zone that has no GPU serves nobody. Of one replica too, for which it says
    nothing: a second one would else change the template, and restart the first.
    """
    return {
        "topologySpreadConstraints": [
            {
                "maxSkew": 1,
                "topologyKey": key,
                "whenUnsatisfiable": "ScheduleAnyway",
                "labelSelector": {"matchLabels": dict(labels)},
                # pods of the outgoing rollout do not count
                "matchLabelKeys": ["pod-template-hash"],
            }
            for key in (ZONE, HOST)
        ]
    }


def disruption_budget(settings: ServerSettings, labels: Mapping[str, str]) -> Manifest | None:
    """Return the spec of a PodDisruptionBudget: one pod at a time. None for one replica, which it would only pin."""
    if settings.replicas == 1:
        return None
    return {"maxUnavailable": 1, "selector": {"matchLabels": dict(labels)}}
