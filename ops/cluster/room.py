"""Whether a pool has a GPU to spare: its limit against what its pods ask for."""

from collections.abc import Iterable

from infra.gpu_pools import GPU_RESOURCE, POOL_LABEL
from infra.gpu_pools.warm_nodes import pause_labels
from ops.cluster.api import Body, Cluster
from ops.failures import RefusedError

_ENDED = ("Succeeded", "Failed")


def pods(cluster: Cluster) -> Iterable[Body]:
    """Return all pods, of every namespace, that have not ended."""
    return cluster.list("/api/v1/pods", fieldSelector=",".join(f"status.phase!={phase}" for phase in _ENDED))


def has_ended(pod: Body) -> bool:
    """Whether a pod will never run again."""
    return (pod.get("status") or {}).get("phase") in _ENDED


def refuse_without_room(path: str, pool: str, limit: int, needed: int, others: Iterable[Body]) -> None:
    """Refuse when the GPUs of a new pod are not there, with the sum.

    Args:
        path: of the setting that the message is about.
        pool: name of the GPU pool.
        limit: GPUs that it may have.
        needed: GPUs of the new pod.
        others: pods that have not ended. Pause pods among them give way, so they do not count.

    Raises:
        RefusedError: the pool's limit has no room.
    """
    used = sum(gpus(pod["spec"]) for pod in others if _selects(pod, pool) and not gives_way(pod, pool))
    if used + needed > limit:
        unit = "GPU" if used == 1 else "GPUs"
        raise RefusedError(
            f"{path}: {used} {unit} in use + {needed} = {used + needed} > {limit} (limit of pool {pool})"
        )


def gpus(spec: Body) -> int:
    """Return the GPUs that a pod holds: of all containers, or of the init container that asks for most."""
    first = [_asked(it) for it in spec.get("initContainers") or () if it.get("restartPolicy") != "Always"]
    beside = [_asked(it) for it in spec.get("initContainers") or () if it.get("restartPolicy") == "Always"]
    together = sum(map(_asked, spec["containers"])) + sum(beside)
    return max([together, *first])


def _asked(container: Body) -> int:
    # for an extended resource Kubernetes makes the request from the limit, and wants them equal
    return int((container.get("resources") or {}).get("limits", {}).get(GPU_RESOURCE, 0))


def _selects(pod: Body, pool: str) -> bool:
    return bool((pod["spec"].get("nodeSelector") or {}).get(POOL_LABEL) == pool)


def gives_way(pod: Body, pool: str) -> bool:
    """Whether it is one of the pool's pause pods, which give way to every other."""
    return pause_labels(pool).items() <= (pod["metadata"].get("labels") or {}).items()
