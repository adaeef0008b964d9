"""The sum of a pool: what its pods hold, and what gives way."""

import pytest

from infra.gpu_pools.warm_nodes import pause_labels
from ops.cluster.room import gpus, refuse_without_room
from ops.failures import RefusedError


def container(count=0, **more):
    limits = {"limits": {"nvidia.com/gpu": str(count)}} if count else {}
    return {"name": "c", "resources": {"requests": {"cpu": "1"}, **limits}, **more}


def pod(*containers, pool="p", labels=None, before=()):
    spec = {"containers": list(containers), "initContainers": list(before), "nodeSelector": {"vllm-eks/pool": pool}}
    return {"metadata": {"labels": labels}, "spec": spec}


@pytest.mark.parametrize(
    ("found", "count"),
    [
        (pod(container()), 0),
        (pod({"name": "bare"}), 0),
        (pod(container(2), container(1)), 3),
        (pod(container(1), before=[container(4)]), 4),
        (pod(container(2), before=[container(1), container(1)]), 2),
        (pod(container(2), before=[container(1, restartPolicy="Always")]), 3),
    ],
    ids=["none", "no resources", "two containers", "init", "small inits", "sidecar"],
)
def test_a_pod_holds_what_kubernetes_counts(found, count):
    assert gpus(found["spec"]) == count


def test_the_last_gpu_may_be_taken():
    refuse_without_room("x", "p", 3, 1, [pod(container(2))])


def test_one_more_is_refused_with_the_sum():
    with pytest.raises(RefusedError) as refused:
        refuse_without_room("servers.chat.cacheBuild", "p", 2, 2, [pod(container(1))])
    assert str(refused.value) == "servers.chat.cacheBuild: 1 GPU in use + 2 = 3 > 2 (limit of pool p)"


@pytest.mark.parametrize(
    "other",
    [
        pod(container(4), pool="another"),
        pod(container(4), labels=pause_labels("p")),
        {"metadata": {}, "spec": {"containers": [container(4)]}},
    ],
    ids=["another pool's", "a pause pod", "no selector"],
)
def test_what_is_not_the_pools_or_gives_way_does_not_count(other):
    refuse_without_room("x", "p", 1, 1, [other])


def test_a_pause_pod_is_known_by_both_labels():
    """Somebody's `warm-nodes` that is not of this pool gives way to nobody."""
    with pytest.raises(RefusedError):
        refuse_without_room("x", "p", 1, 1, [pod(container(1), labels=pause_labels("q"))])
