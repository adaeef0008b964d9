"""What a change does to a server's pods: whether they restart, and how the new ones come."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from infra.gpu_pools import GPU_RESOURCE, POOL_LABEL
from infra.naming import TECHNIQUES_ANNOTATION
from ops.impact.leaves import Change, changes
from ops.impact.plan import DEPLOYMENT, Plan, Resource
from serving.budget.timeline import Start
from serving.techniques.local_weights import WEIGHTS

Rollout = Literal["recreate", "surge"]


@dataclass(frozen=True, kw_only=True)
class Pods:
    """Of a server that stands in both revisions."""

    restart: bool
    certain: bool
    """False: what differs is known only after `up`."""
    changed: tuple[Change, ...]
    """Of the pod template."""
    replaced: bool
    """The Deployment itself is deleted and made again."""
    start: Start
    """What the new pods find."""
    fetches: bool
    """But for the model's copy, which the node has of another revision or not at all (local-weights)."""
    rollout: Rollout
    replicas: tuple[int, int]
    gpus: int
    """Of one pod."""
    pool: str
    ending: float
    """Seconds from the old pod's deletion to its end, at most: it has left the Service."""


def deployment(plan: Plan, server: str) -> Resource | None:
    """Return the Deployment of a server, which is called like it."""
    return plan.objects(DEPLOYMENT).get(server)


def techniques(of: Resource) -> frozenset[str]:
    """Return the names of a server's techniques, as its Deployment tells them."""
    told = (of.inputs.get("metadata") or {}).get("annotations") or {}
    return frozenset(str(told.get(TECHNIQUES_ANNOTATION, "")).split(","))


def pods(before: Resource, after: Resource, plan: Plan, gone: frozenset[str]) -> Pods:
    """Return what happens to the pods of a Deployment.

    The number of replicas is no part of a template: it starts or ends pods, and restarts none.

    Args:
        before: as it stands.
        after: as it is proposed.
        plan: that `after` is in.
        gone: pools whose nodes go with this very change.
    """
    old, new = before.spec.get("template") or {}, after.spec.get("template") or {}
    found = changes(old, new)
    replaced = after.action == "replace"
    return Pods(
        restart=bool(found) or replaced,
        certain=replaced or any(plan.known(it.after) for it in found),
        changed=found,
        replaced=replaced,
        start=_start(old, new, gone),
        fetches=_weights(new) not in {None, _weights(old)},
        rollout=rollout(after),
        replicas=(replicas(before), replicas(after)),
        gpus=gpus(after),
        pool=pool(after),
        # the program sets it for each server, from `shutdown`
        ending=float(_pod(old).get("terminationGracePeriodSeconds", 0)),
    )


def rollout(of: Resource) -> Rollout:
    """Return how new pods come: `recreate` when the old ones end first."""
    return "surge" if (of.spec.get("strategy") or {}).get("type") == "RollingUpdate" else "recreate"


def replicas(of: Resource) -> int:
    """Return how many pods are asked for."""
    return int(of.spec.get("replicas", 1))


def gpus(of: Resource) -> int:
    """Return the GPUs of one pod."""
    containers = _pod(of.spec.get("template") or {}).get("containers") or []
    return sum(int(((it.get("resources") or {}).get("limits") or {}).get(GPU_RESOURCE, 0)) for it in containers)


def pool(of: Resource) -> str:
    """Return the pool whose nodes the pods ask for."""
    return str((_pod(of.spec.get("template") or {}).get("nodeSelector") or {}).get(POOL_LABEL, ""))


def _start(old: Mapping[str, Any], new: Mapping[str, Any], gone: frozenset[str]) -> Start:
    selectors = [_pod(it).get("nodeSelector") or {} for it in (old, new)]
    if selectors[0] != selectors[1] or selectors[1].get(POOL_LABEL) in gone:
        return "fresh node"
    # the node has another image, or none: it pulls
    return "warm node" if _images(new) - _images(old) else "restart"


def _weights(template: Mapping[str, Any]) -> str | None:
    """Return the folder on the node that has the model's copy; None where a pod wants none."""
    volumes = {str(it.get("name")): it for it in _pod(template).get("volumes") or []}
    found = (volumes.get(WEIGHTS, {}).get("hostPath") or {}).get("path")
    return None if found is None else str(found)


def _images(template: Mapping[str, Any]) -> set[str]:
    pod = _pod(template)
    containers = [*(pod.get("containers") or []), *(pod.get("initContainers") or [])]
    return {str(it.get("image")) for it in containers}


def _pod(template: Mapping[str, Any]) -> Mapping[str, Any]:
    found: Mapping[str, Any] = template.get("spec") or {}
    return found
