"""Every request of a measurement fails once, in every way: afterwards all is as before, or named with its command."""

from __future__ import annotations

from contextlib import suppress
from datetime import UTC, datetime, timedelta

import pytest

from ops.cluster.api import DeniedError
from ops.coldstart.measure import provoke
from ops.coldstart.measure import run as whole_run
from ops.failures import Failure, RefusedError, UnclearError

SITUATIONS = [("restart", 1), ("restart", 2), ("fresh-node", 1), ("warm-node", 1)]


def as_asked(_number, act):
    return act()


def once(number, what):
    """`what(act)` in the place of one request."""
    return lambda count, act: what(act) if count == number else act()


def silent(_act):
    raise UnclearError("does not answer")


def denied(_act):
    raise DeniedError("answers 403")


def refused(_act):
    raise RefusedError("answers 409")


def broken(_act):
    raise KeyError("items")


def lost(act):
    """It is done, and nobody hears of it."""
    act()
    raise UnclearError("the answer is lost")


def interrupted(act):
    act()
    raise KeyboardInterrupt


@pytest.mark.parametrize(("situation", "replicas"), SITUATIONS)
def test_a_measurement_leaves_everything_as_it_was(run, situation, replicas, capsys):
    it = run(situation, replicas)
    it(as_asked)
    (record,) = it.kept
    assert it.standing() == []
    assert record.total >= 0
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("how", [silent, denied, refused, broken, lost, interrupted], ids=lambda it: it.__name__)
@pytest.mark.parametrize(("situation", "replicas"), SITUATIONS)
def test_whichever_request_fails_everything_is_as_it_was(run, situation, replicas, how, capsys):
    number, over = 0, False
    while not over:
        number += 1
        it = run(situation, replicas)
        with suppress(Failure, KeyError, KeyboardInterrupt):
            it(once(number, how))
        asked = it.cluster.asked
        over = len(asked) < number
        err = capsys.readouterr().err
        what = f"request {number} of {len(asked)}: {asked[number - 1] if not over else ''}: {err}"
        assert [left for left in it.standing() if f"not put back: {left}" not in err] == [], what
        if how in {silent, lost, interrupted}:
            # who is asked again answers
            assert "not put back" not in err, what
    assert number > 15


@pytest.mark.parametrize(("situation", "replicas"), SITUATIONS)
def test_what_stands_otherwise_when_the_api_is_gone_for_good_is_named_with_its_command(
    run, situation, replicas, capsys
):
    number, over, named = 0, False, 0
    while not over:
        number += 1
        it = run(situation, replicas)
        with suppress(Failure):
            it(lambda count, act, first=number: silent(act) if count >= first else act())
        over = len(it.cluster.asked) < number
        err = capsys.readouterr().err
        for left in it.standing():
            assert f"not put back: {left}" in err, f"request {number}: {it.cluster.asked[number - 2 :]}: {err}"
            named += 1
        assert all("; do it by hand: kubectl " in line for line in err.splitlines() if line.startswith("not put back"))
    assert named


@pytest.mark.parametrize(("situation", "replicas"), SITUATIONS)
def test_a_start_that_was_seen_is_written_down_whatever_cannot_be_had_of_it(run, situation, replicas):
    """Logs and events, by a kubelet that does not answer: the node was paid for."""
    it = run(situation, replicas)

    def failing(count, act):
        return silent(act) if it.cluster.asked[count - 1].endswith(("/log", "/events")) else act()

    it(failing)
    (record,) = it.kept
    assert {"log of vllm: does not answer", "events: does not answer"} <= set(record.notes)


def test_what_cannot_be_put_back_after_a_measurement_ends_it_with_3_and_the_start_is_kept(run, capsys, monkeypatch):
    monkeypatch.setattr(provoke, "SILENCE", 6000.0)
    it = run("warm-node")
    closed = []

    def failing(count, act):
        asked = it.cluster.asked[count - 1]
        if asked.startswith("PATCH /api/v1/nodes/"):
            closed.append(asked)
            if len(closed) > 1:
                raise UnclearError("does not answer")
        return act()

    with pytest.raises(UnclearError) as caught:
        it(failing)
    node = closed[0].rpartition("/")[2]
    assert len(it.kept) == 1
    assert str(caught.value) == f"servers.gemma: measured, and not put back: node {node} takes pods"
    assert capsys.readouterr().err == (
        f"not put back: node {node} takes pods: does not answer; do it by hand: kubectl uncordon {node}\n"
    )


def test_a_pause_pod_of_another_measurement_is_refused_and_left(run):
    it = run("warm-node")
    path = f"{it.cluster.space}/pods"
    it.cluster.create(path, {"metadata": {"name": "gemma-coldstart-holder"}, "spec": {"containers": []}})
    it.cluster.objects[it.cluster.deployment]["spec"]["replicas"] = 1
    with pytest.raises(RefusedError) as caught:
        it(as_asked)
    assert f"{path}/gemma-coldstart-holder" in it.cluster.objects
    assert str(caught.value) == (
        "pod inference/gemma-coldstart-holder: of another measurement, which runs or was killed; after it: kubectl -n"
        " inference delete pod gemma-coldstart-holder"
    )


def test_a_pod_that_came_to_the_free_gpu_meanwhile_keeps_its_node(run):
    it = run("fresh-node")
    node = it.cluster.servers()[0]["spec"]["nodeName"]

    def failing(count, act):
        answer = act()
        if it.cluster.asked[count - 1].endswith("/scale") and not it.cluster.servers():
            path = f"{it.cluster.space}/pods/other"
            it.cluster._put(path, spec={"nodeName": node, "containers": []})
        return answer

    with pytest.raises(RefusedError) as caught:
        it(failing)
    assert str(caught.value) == f"node {node}: other pods would go with it: inference/other"
    assert f"/api/v1/nodes/{node}" in it.cluster.objects
    assert it.standing() == []


def test_a_number_that_somebody_else_has_set_meanwhile_stays(run):
    it = run("fresh-node")

    def failing(count, act):
        if it.cluster.asked[count - 1].startswith("DELETE"):
            it.cluster.objects[it.cluster.deployment]["spec"]["replicas"] = 2
            raise UnclearError("does not answer")
        return act()

    with pytest.raises(UnclearError):
        it(failing)
    assert it.standing() == ["replicas of Deployment"]
    assert it.cluster.objects[it.cluster.deployment]["spec"]["replicas"] == 2


@pytest.mark.parametrize(("situation", "replicas"), SITUATIONS)
def test_a_pod_that_was_evicted_long_ago_is_none_of_the_servers(run, situation, replicas):
    """It stays in the API for days, on the name of a node that may run others now."""
    it = run(situation, replicas)
    labels = it.cluster.servers()[0]["metadata"]["labels"]
    gone = it.cluster._put(f"{it.cluster.space}/pods/evicted", labels=labels, spec={"nodeName": "x", "containers": []})
    gone["status"], gone["metadata"]["creationTimestamp"] = {"phase": "Failed"}, "2020-01-01T00:00:00Z"
    it(as_asked)
    assert len(it.kept) == 1
    assert it.standing() == []


def test_the_clock_is_asked_before_every_start(run, monkeypatch):
    asked = []
    monkeypatch.setattr(whole_run, "refuse_before_the_clock", lambda _, minutes, now: asked.append((minutes, now)))
    it = run("restart")
    it.order = type(it.order)(**{**vars(it.order), "repeat": 3})
    it(as_asked)
    all_of_it, *each = [minutes for minutes, _ in asked]
    assert len(it.kept) == len(each) == 3
    assert all_of_it == pytest.approx(3 * each[0])
    assert datetime.now(UTC) - asked[-1][1] < timedelta(minutes=1)
