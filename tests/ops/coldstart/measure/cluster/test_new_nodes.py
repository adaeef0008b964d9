"""Starts on another node than before, on the real control plane, with Karpenter played."""

from __future__ import annotations

import pytest

from ops.failures import RefusedError
from tests.ops.coldstart.measure.played.stage import TYPE
from tests.ops.coldstart.measure.played.truth import as_played


def test_a_fresh_node_comes_out_as_it_was_played(serving):
    (old,) = serving.pods()
    (record,) = serving.measured("fresh-node")
    (pod,) = serving.pods()
    node = pod["spec"]["nodeName"]
    assert [it["metadata"]["name"] for it in serving.get("/api/v1/nodes")["items"]] == [node]
    assert node != old["spec"]["nodeName"]
    as_played(record, serving.stage, pod["metadata"]["uid"], node=node)
    assert (record.start, record.role, record.pull, record.restore) == ("fresh node", "hit", "pulled", "hit")
    assert record.notes == ()
    subject = record.subject
    assert (subject.instance_type, subject.capacity, subject.zone) == (TYPE, "spot", "us-west-2b")
    assert (subject.server, subject.preset, subject.probe_seconds) == ("gemma", "frontier", 1.0)


def test_a_warm_node_is_made_first_and_the_others_take_pods_again(serving):
    (old,) = serving.pods()
    (record,) = serving.measured("warm-node")
    (pod,) = serving.pods()
    assert pod["spec"]["nodeName"] != old["spec"]["nodeName"]
    as_played(record, serving.stage, pod["metadata"]["uid"])
    assert (record.start, record.pull, record.notes) == ("warm node", "pulled", ())
    assert [it["spec"].get("unschedulable") for it in serving.get("/api/v1/nodes")["items"]] == [None, None]


def test_a_node_that_others_use_is_not_deleted_for_a_measurement(serving):
    (pod,) = serving.pods()
    node = pod["spec"]["nodeName"]
    serving.players.pod("somebody", nodeName=node)
    with pytest.raises(RefusedError) as caught:
        serving.told("fresh-node")
    space = serving.players.namespace
    assert str(caught.value) == f"node {node}: other pods would go with it: {space}/somebody"


def test_a_node_with_room_is_named_because_the_pod_would_go_there(serving):
    serving.stage.node("spare")
    _nodes(serving, 2)
    with pytest.raises(RefusedError) as caught:
        serving.told("fresh-node")
    assert str(caught.value) == (
        "node spare: has room for the pod, so no node would be made; kubectl cordon spare (and uncordon it afterwards),"
        " or wait until Karpenter has taken it away"
    )
    with pytest.raises(RefusedError) as caught:
        serving.told("warm-node")
    assert str(caught.value) == (
        "gpuPools.rtx-pro-6000.maxGpus: 2 on 2 nodes + 1 of a node that waits = 3 > 2: raise it, or wait until"
        " Karpenter has taken empty nodes away"
    )


def _nodes(scene, count):
    import time

    for _ in range(200):
        if len(scene.get("/api/v1/nodes")["items"]) == count:
            return
        time.sleep(0.05)
    raise AssertionError("no node came")
