"""Servers that sleep or are stopped, from what the API and their agents say."""

from datetime import UTC, datetime, timedelta

import pytest

from ops.failures import UnclearError
from ops.idle.status.servers import sleeping, stopped
from ops.stack.stack_file import read

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)


def deployment(replicas=0, **annotations):
    return {"metadata": {"annotations": annotations}, "spec": {"replicas": replicas}}


def pod(phase="Running", **labels):
    return {"metadata": {"name": "p", "labels": labels}, "status": {"phase": phase}}


@pytest.fixture
def server(folder, edit):
    """`server(...)`: the dev stack's, with these settings."""

    def make(**settings):
        edit(lambda its: its["servers"]["gemma"].update(settings))
        edit(lambda its: its["servers"]["gemma"]["engine"].update(gpuMemoryUtilization=0.85))
        return read("dev").settings.servers["gemma"]

    return make


NIGHTS = {"schedule": {"stop": "0 20 * * mon-fri", "start": "30 7 * * mon-fri", "timeZone": "Asia/Seoul"}}


@pytest.mark.parametrize(
    ("status", "since"),
    [
        (
            {"lastScheduleTime": "2026-11-30T11:00:00Z", "lastSuccessfulTime": "2026-11-30T11:01:00Z"},
            NOW - timedelta(minutes=59),
        ),
        ({"lastScheduleTime": "2026-11-30T11:00:00Z"}, NOW - timedelta(hours=1)),
        (None, None),
    ],
)
def test_a_server_that_the_clock_has_stopped_says_since_when_and_what_starts_it(server, status, since):
    found = stopped("gemma", server(idle=NIGHTS), deployment(**{"vllm-eks/idle": "schedule"}), {"status": status})
    assert (found.state, found.since) == ("stopped by the clock", since)
    assert found.detail == 'starts "30 7 * * mon-fri" Asia/Seoul'


def test_who_has_no_pods_and_no_clock_was_stopped_by_hand(server):
    assert stopped("gemma", server(), deployment(), None).state == "stopped by hand"


@pytest.mark.parametrize("there", [None, deployment(1), {"metadata": {}, "spec": {}}])
def test_who_has_pods_or_is_not_there_is_not_stopped(server, there):
    assert stopped("gemma", server(), there, None) is None


def test_a_pod_sleeps_since_its_agent_says(server):
    its = server(preset="short-idle")
    found, unclear = sleeping("gemma", its, [pod()], lambda _: {"state": "asleep", "seconds": 90.5}, NOW)
    assert ([(it.since, it.detail) for it in found], unclear) == ([(NOW - timedelta(seconds=90.5), "pod p")], [])
    assert sleeping("gemma", its, [pod()], lambda _: {"state": "awake", "seconds": 1}, NOW) == ([], [])


def test_an_agent_that_does_not_answer_is_told_and_hides_no_other(server):
    answers = iter([UnclearError("no answer"), {"state": "asleep", "seconds": 1}])

    def asked(_):
        answer = next(answers)
        if isinstance(answer, UnclearError):
            raise answer
        return answer

    found, unclear = sleeping("gemma", server(preset="short-idle"), [pod(), pod()], asked, NOW)
    assert (len(found), unclear) == (1, ["servers.gemma: pod p: no answer"])


def test_without_an_agent_to_ask_it_is_not_known(server):
    its = server(preset="short-idle")
    assert sleeping("gemma", its, [pod()], None, NOW) == (
        [],
        ["servers.gemma: pod p: its agent was not asked whether it sleeps"],
    )
    assert sleeping("gemma", its, [pod("Pending")], None, NOW) == ([], [])
    ending = pod()
    ending["metadata"]["deletionTimestamp"] = "2026-11-30T11:00:00Z"
    assert sleeping("gemma", its, [ending], None, NOW) == ([], [])


def test_who_is_woken_from_outside_shows_it_by_a_label(server):
    its = server(preset="short-idle", sleep={"wake": "external"})
    found, unclear = sleeping("gemma", its, [pod(), pod(awake="true")], None, NOW)
    assert (len(found), unclear) == (1, [])


def test_a_server_that_cannot_sleep_is_not_asked(server):
    assert sleeping("gemma", server(), [pod()], lambda _: 1 / 0, NOW) == ([], [])
