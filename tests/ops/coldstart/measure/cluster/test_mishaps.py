"""Several starts in a row, and what goes wrong in the middle of one, on the real control plane."""

from __future__ import annotations

import time

import pytest

from ops.coldstart.measure.run import measured
from ops.coldstart.measure.ways import ways
from ops.failures import RefusedError, UnclearError
from tests.ops.coldstart.measure.played.scene import Scene
from tests.ops.coldstart.measure.played.script import Script


def test_an_engine_that_dies_in_the_middle_is_counted_and_its_seconds_are_nobodys(serving):
    serving.stage.scripts = lambda _: Script(outcome="present", dies=2.0)
    (record,) = serving.measured("restart")
    assert record.restarts == 1
    assert record.notes == ("the engine was started 2 times: what came before the last is unattributed",)
    assert record.unattributed == pytest.approx(2.0, abs=1.0)


def test_a_pod_that_is_evicted_in_the_middle_is_no_start(serving):
    serving.stage.scripts = lambda _: Script(restore=0.1, evicted=0.5)
    with pytest.raises(UnclearError) as caught:
        serving.measured("restart")
    names = [it["metadata"]["name"] for it in serving.pods()]
    said = str(caught.value)
    assert said.removeprefix("pod ").partition(":")[0] in names
    assert said.partition(": ")[2] == ("Evicted: The node was low on resource: memory.: its start cannot be measured")
    assert serving.deployment()["spec"]["replicas"] == 1


def test_starts_come_one_after_another_and_each_is_kept_at_once(serving):
    serving.stage.scripts = lambda _: Script(restore=0.1, ready=0.5, outcome="present")
    one, two = serving.measured("restart", repeat=2)
    assert two.began >= one.began
    (pod,) = serving.pods()
    assert {text for text in serving.said if "looking" in text} == {"1 of 2: looking", "2 of 2: looking"}
    # the API's own time of the second pod
    assert f"{two.began:%Y-%m-%dT%H:%M:%SZ}" == pod["metadata"]["creationTimestamp"]


def test_what_is_no_longer_as_it_was_told_is_not_done(serving):
    order, agreed = serving.order("restart"), serving.told("restart")
    (old,) = serving.pods()
    serving.stage.scripts = lambda _: Script(restore=0.1, ready=0.1)
    space = serving.players.namespace
    serving.players._delete(f"/api/v1/namespaces/{space}/pods/{old['metadata']['name']}?gracePeriodSeconds=0")
    while old["metadata"]["uid"] in {it["metadata"]["uid"] for it in serving.pods()}:
        serving.stage.check()
    settled(serving)
    with pytest.raises(RefusedError) as caught:
        measured(serving.cluster, order, serving.reach, agreed, lambda _: None, serving.say)
    assert str(caught.value) == "servers.gemma: its pods or nodes have changed since you were asked: run it again"


def test_a_pod_that_does_not_answer_is_said_with_what_measures_all_the_same(serving):
    """Through the API server, to a kubelet that forwards no port."""
    (pod,) = serving.pods()
    serving.metrics = ways(serving.cluster, serving.stack, "gemma").metrics
    with pytest.raises(UnclearError) as caught:
        serving.told("restart")
    said = str(caught.value)
    assert said.startswith(f"pod {pod['metadata']['name']}: its metrics cannot be had: ")
    assert said.endswith("; --despite-traffic measures all the same, and cuts what runs")


def settled(scene: Scene) -> None:
    """Wait until the Deployment, which tells of its pods a moment later, has told of all."""
    for _ in range(200):
        try:
            scene.told("restart", despite_traffic=True)
        except RefusedError:
            time.sleep(0.05)
        else:
            return
    raise AssertionError("it never settles")
