"""GPU nodes without work, as the API shows them."""

from datetime import UTC, datetime, timedelta

import pytest

from infra.gpu_pools.warm_nodes import pause_labels
from ops.idle.status.nodes import seen

POOL = "rtx-pro-6000"
SINCE = "2026-11-30T10:00:00Z"
THEN = datetime(2026, 11, 30, 10, tzinfo=UTC)


def node(**metadata):
    labels = {
        "vllm-eks/pool": POOL,
        "node.kubernetes.io/instance-type": "g7e.2xlarge",
        "karpenter.sh/capacity-type": "spot",
        "karpenter.sh/nodepool": POOL,
    }
    return {"metadata": {"name": "n", "labels": labels, **metadata}}


def claim(**status):
    return {"metadata": {"name": "n-claim"}, "status": {"nodeName": "n", **status}}


def initialized(status="True"):
    return [{"type": "Initialized", "status": status, "lastTransitionTime": SINCE}]


def pool(after="10m"):
    return {"metadata": {"name": POOL}, "spec": {"disruption": {"consolidateAfter": after}}}


def pod(*, gpus=0, labels=None, owner="ReplicaSet", **metadata):
    limits = {"resources": {"limits": {"nvidia.com/gpu": str(gpus)}}} if gpus else {}
    owners = [{"kind": owner}] if owner else []
    return {
        "metadata": {"name": "p", "namespace": "ns", "labels": labels or {}, "ownerReferences": owners, **metadata},
        "spec": {"nodeName": "n", "containers": [{"name": "c", **limits}]},
    }


def only(*pods, claims=None, after="10m", **metadata):
    claims = [claim(lastPodEventTime=SINCE)] if claims is None else claims
    (found,) = seen([node(**metadata)], claims, [pool(after)], pods)
    return found


@pytest.mark.parametrize(
    ("pods", "state"),
    [
        ([], "empty"),
        ([pod(owner="DaemonSet")], "empty"),
        ([pod(owner="Node")], "empty"),
        ([pod(gpus=1)], "busy"),
        ([pod(gpus=1), pod(gpus=1, labels=pause_labels(POOL))], "busy"),
        ([pod(gpus=1, labels=pause_labels(POOL))], "warm"),
        ([pod(gpus=1, labels=pause_labels("another"))], "busy"),
        ([pod(owner=None)], "kept by pod ns/p"),
        ([pod(gpus=1, deletionTimestamp=SINCE)], "empty"),
    ],
    ids=["no pod", "an agent", "static", "a server", "both", "pause", "another's pause", "a stray", "ending"],
)
def test_a_node_is_what_its_pods_make_it(pods, state):
    """Karpenter counts a pod that ends as gone, and agents not at all."""
    assert only(*pods).state == state


def test_karpenter_takes_an_empty_node_after_its_last_pod_and_the_pools_time():
    found = only()
    assert (found.since, found.goes) == (THEN, THEN + timedelta(minutes=10))
    assert (found.claim, found.market, found.instance_type) == ("n-claim", "spot", "g7e.2xlarge")


def test_a_node_that_never_had_a_pod_counts_from_its_initialization():
    assert only(claims=[claim(conditions=initialized())]).since == THEN
    assert only(claims=[claim(conditions=initialized("False"))]).since is None


@pytest.mark.parametrize(("after", "wait"), [("Never", None), ("", None), ("1h30m", 5400), ("30s", 30)])
def test_the_time_is_the_nodepools_own(after, wait):
    """Of the cluster: a stack file that was not applied yet decides nothing."""
    assert only(after=after).goes == (THEN + timedelta(seconds=wait) if wait else None)


def test_nothing_goes_that_is_kept_or_has_work():
    assert only(pod(gpus=1)).goes is None
    assert only(annotations={"karpenter.sh/do-not-disrupt": "true"}).state == (
        "kept by its annotation karpenter.sh/do-not-disrupt"
    )
    assert only(deletionTimestamp=SINCE).state == "ending"
    assert only(claims=[]).goes is None


def test_servers_on_a_node_are_named():
    labels = {"app.kubernetes.io/name": "vllm", "app.kubernetes.io/instance": "gemma"}
    assert only(pod(gpus=1, labels=labels), pod(gpus=1)).servers == ["gemma"]
