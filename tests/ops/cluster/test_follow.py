"""What a Job does and how it ended, from what the API says of it and its pods."""

import json
from unittest import mock

import pytest

from ops.cluster import follow
from ops.cluster.api import Cluster, Said
from ops.cluster.follow import End, end, followed, step
from ops.failures import UnclearError


@pytest.fixture(autouse=True)
def hurry(monkeypatch):
    monkeypatch.setattr(follow, "POLL", 0)


def pod(*, node="n", created="2026-11-30T10:00:00Z", state=None, conditions=()):
    return {
        "metadata": {"name": "p", "creationTimestamp": created},
        "spec": {"nodeName": node} if node else {},
        "status": {"conditions": list(conditions), "containerStatuses": [{"state": state}] if state else None},
    }


def unschedulable(message):
    return {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": message}


def job(kind=None, *, uid="u", **more):
    conditions = [{"type": kind, "status": "True", **more}] if kind else None
    return {"metadata": {"uid": uid}, "status": {"conditions": conditions}}


@pytest.mark.parametrize(
    ("pods", "says"),
    [
        ([], "pending: no pod yet"),
        ([pod(node=None)], "pending"),
        ([pod(node=None, conditions=[unschedulable("0/3 nodes:\n no GPU")])], "pending: 0/3 nodes: no GPU"),
        ([pod()], "pulling"),
        ([pod(state={"waiting": {"reason": "ContainerCreating"}})], "pulling"),
        (
            [pod(state={"waiting": {"reason": "ErrImagePull", "message": "no such image"}})],
            "pulling: no such image",
        ),
        ([pod(state={"waiting": {"reason": "ImagePullBackOff"}})], "pulling: ImagePullBackOff"),
        ([pod(state={"running": {}})], "running"),
        ([pod(state={"terminated": {"exitCode": 0}})], "ending"),
        (
            [pod(state={"terminated": {}}), pod(created="2026-11-30T10:05:00Z", state={"running": {}})],
            "running",
        ),
    ],
)
def test_the_newest_pod_says_what_is_going_on(pods, says):
    assert step(pods) == says


def test_a_long_reason_is_cut():
    assert step([pod(node=None, conditions=[unschedulable("x" * 500)])]) == f"pending: {'x' * 160}..."


@pytest.mark.parametrize("condition", [None, "Suspended", "FailureTarget", "SuccessCriteriaMet"])
def test_only_complete_and_failed_end_a_job(condition):
    """The two others come before its pods have ended."""
    assert end(job(condition), []) is None


def test_a_condition_that_is_not_true_ends_nothing():
    assert end({"status": {"conditions": [{"type": "Failed", "status": "False"}]}}, []) is None


def test_the_last_container_that_ran_tells():
    first = {"exitCode": 3, "message": "first", "finishedAt": "2026-11-30T10:01:00Z", "reason": "Error"}
    last = {"exitCode": 1, "message": "last", "finishedAt": "2026-11-30T10:02:00Z", "reason": "Error"}
    pods = [pod(state={"terminated": last}), pod(state={"terminated": first}), pod(state={"running": {}})]
    assert end(job("Failed", reason="PodFailurePolicy", message="exit code 1"), pods) == End(
        succeeded=False, code=1, message="last", reason="PodFailurePolicy: exit code 1"
    )


def test_a_killed_container_says_by_what():
    killed = {"exitCode": 137, "reason": "OOMKilled", "finishedAt": "x"}
    ended = end(job("Failed", reason="BackoffLimitExceeded"), [pod(state={"terminated": killed})])
    assert ended == End(succeeded=False, code=137, message="", reason="BackoffLimitExceeded: OOMKilled")


def test_a_success_needs_no_reason():
    done = {"exitCode": 0, "reason": "Completed", "message": "all well", "finishedAt": "x"}
    ended = end(job("Complete", reason="CompletionsReached"), [pod(state={"terminated": done})])
    assert ended == End(succeeded=True, code=0, message="all well", reason="")


def test_an_api_that_is_silent_for_a_while_ends_nothing(capsys):
    """A control plane that is upgraded is away for minutes, and the build on its GPU goes on."""
    done = pod(state={"terminated": {"exitCode": 0, "message": "well", "reason": "Completed"}})
    cluster = mock.Mock()
    cluster.find.side_effect = [
        job(),
        UnclearError("x does not answer"),
        UnclearError("x answers 503"),
        job("Complete"),
    ]
    cluster.list.side_effect = [[pod(state={"running": {}})], [done]]
    assert followed(cluster, "ns", "a").message == "well"
    assert [line.rpartition(" (")[0] for line in capsys.readouterr().err.splitlines()] == [
        "a: running",
        "a: x does not answer",
        "a: x answers 503",
    ]


def test_an_api_that_stays_silent_is_given_up(monkeypatch):
    monkeypatch.setattr(follow, "PATIENCE", 0.05)
    cluster = mock.Mock()
    cluster.find.side_effect = UnclearError("x does not answer: refused")
    with pytest.raises(UnclearError) as unclear:
        followed(cluster, "ns", "a")
    assert str(unclear.value) == "Job ns/a may still run, and x does not answer: refused"


@pytest.mark.parametrize("status", [401, 403])
def test_whoever_may_not_look_is_told_at_once(status):
    """Rights do not come back by waiting, as an upgraded control plane does."""
    cluster = Cluster(mock.Mock(), "https://x", Said())
    answers = [(200, json.dumps(job())), (200, '{"items": []}'), (status, '{"message": "no"}')]
    cluster._ask = mock.Mock(side_effect=answers)
    with pytest.raises(UnclearError) as unclear:
        followed(cluster, "ns", "a")
    said = {401: "does not know you: no", 403: "answers 403: no"}[status]
    assert str(unclear.value) == f"Job ns/a may still run, and https://x {said}"


def test_another_job_of_the_same_name_is_not_the_one_that_is_followed():
    """The next build takes the place of one that has ended, and would be reported as this one."""
    cluster = mock.Mock()
    cluster.find.side_effect = [job(uid="mine"), job("Complete", uid="another's")]
    cluster.list.return_value = []
    with pytest.raises(UnclearError) as unclear:
        followed(cluster, "ns", "a")
    assert str(unclear.value) == "Job ns/a: gone; somebody deleted it, and how it ended nobody knows"


def test_ctrl_c_leaves_the_job_alone_and_says_so(capsys, monkeypatch):
    monkeypatch.setattr(follow.time, "sleep", mock.Mock(side_effect=KeyboardInterrupt))
    cluster = mock.Mock()
    cluster.find.return_value, cluster.list.return_value = job(), []
    with pytest.raises(follow.typer.Exit) as left:
        followed(cluster, "ns", "a")
    assert left.value.exit_code == 130
    assert capsys.readouterr().err.endswith(
        "\nJob ns/a goes on; follow it: kubectl -n ns logs -f job/a\n",
    )
    assert {call[0] for call in cluster.method_calls} == {"find", "list"}
