"""What keeps `ops cache build` from making a Job, before a real API server."""

import json
from unittest import mock

import pytest

from ops.cache import build as build_module
from ops.cluster.jobs import job
from tests.ops.players import IMAGE, WHOSE


def job_by_hand(players, template, name):
    """As `kubectl create job --from` makes it."""
    made = job(template, name)
    path = f"/apis/batch/v1/namespaces/{players.namespace}/jobs"
    owners = made["metadata"]["ownerReferences"]
    return players.create(path, "batch/v1", "Job", name, {"spec": made["spec"]}, ownerReferences=owners)


def test_two_builds_of_a_server_never_run_at_once(build, template, players):
    """Both would boot an engine for the same two keys; also when the other is the candidate's."""
    build("--no-wait")
    running = players.job()["metadata"]["name"]
    said = (
        f"servers.gemma.cacheBuild: {running} is still running; follow it:"
        f" kubectl -n {players.namespace} logs -f job/{running}\n"
    )
    assert build("--no-wait") == (1, "", said)


def test_a_build_that_somebody_made_with_kubectl_is_one_too(build, template, players):
    job_by_hand(players, template, "by-hand")
    assert build("--no-wait") == (
        1,
        "",
        "servers.gemma.cacheBuild: by-hand is still running; follow it:"
        f" kubectl -n {players.namespace} logs -f job/by-hand\n",
    )
    players.ended("by-hand", succeeded=True)
    assert build("--no-wait")[0] == 0


def test_one_that_has_ended_gives_way(build, template, players):
    build("--no-wait")
    before = players.job()["metadata"]
    players.ended(before["name"], succeeded=False)
    assert build("--no-wait")[0] == 0
    after = players.job()["metadata"]
    assert after["name"] == before["name"]
    assert after["uid"] != before["uid"]


def test_of_two_who_start_at_once_the_api_server_refuses_one(build, template, players, monkeypatch):
    """Between the look and the Job there is time for another operator."""
    looked = build_module.refuse_without_room

    def and_another_was_faster(*sum_):
        looked(*sum_)
        job_by_hand(players, template, "gemma-cache-build")

    monkeypatch.setattr(build_module.jobs, "make_way", lambda *_: None)
    monkeypatch.setattr(build_module, "refuse_without_room", and_another_was_faster)
    code, out, err = build("--no-wait")
    assert (code, out) == (1, "")
    assert err.splitlines()[1:] == [f'{players.api.url} answers 409: jobs.batch "gemma-cache-build" already exists']
    assert len(players.jobs()) == 1


def test_who_deletes_an_ended_job_does_not_wait_for_the_one_that_took_its_place():
    ended = {"metadata": {"uid": "a"}, "status": {"conditions": [{"type": "Complete", "status": "True"}]}}
    cluster = mock.Mock()
    cluster.find.side_effect = [ended, ended, {"metadata": {"uid": "b"}}]
    build_module.jobs.make_way(cluster, "ns", "n")
    assert cluster.delete.mock_calls == [mock.call("/apis/batch/v1/namespaces/ns/jobs/n", "a")]


def test_another_servers_build_is_in_nobodys_way(build, template, players, ops):
    job_by_hand(players, players.cron_job("gemma-two-cache-build", {"args": ["x"]}), "other")
    assert build("--no-wait")[0] == 0


def test_without_a_free_gpu_it_is_refused_with_the_sum(build, template, players):
    """The Job's pod would wait for an hour, and then take the place of a server that returns."""
    players.gpu_pod("one", 1)
    players.gpu_pod(
        "warm", 1, labels={"app.kubernetes.io/name": "warm-nodes", "app.kubernetes.io/instance": "rtx-pro-6000"}
    )
    players.gpu_pod("elsewhere", 4, pool="another")
    ended = players.gpu_pod("ended", 4)["metadata"]["name"]
    players.status("pods", ended, {"phase": "Succeeded"})
    assert build("--no-wait")[0] == 0
    players.ended(players.job()["metadata"]["name"], succeeded=True)
    players.gpu_pod("two", 1)
    assert build("--no-wait") == (
        1,
        "",
        "servers.gemma.cacheBuild: 2 GPUs in use + 1 = 3 > 2 (limit of pool rtx-pro-6000)\n",
    )
    assert len(players.jobs()) == 1  # the ended one keeps its log


def test_a_server_without_a_template_says_what_makes_it(build, players):
    assert build("--no-wait") == (
        1,
        "",
        f"CronJob {players.namespace}/gemma-cache-build: not there; `pulumi up` makes it for a server with the"
        " technique cache-restore\n",
    )


def test_a_template_of_an_older_stack_file_is_refused(build, players, ops):
    """It would fill a key that no server of this stack file looks for, and say `published`."""
    players.cron_job("gemma-cache-build", {"args": ["--fingerprint=0123456789abcdef"], "image": IMAGE})
    key = json.loads(ops("cache", "key", "--server", "gemma", "--json")[1])
    assert build("--no-wait") == (
        1,
        "",
        "servers.gemma.cacheBuild: the cluster would build 0123456789abcdef, and this stack file needs"
        f" {key['fingerprint']}: run `pulumi up` first\n",
    )


def test_an_object_that_the_api_server_refuses_is_one_line(build, template, players, monkeypatch):
    monkeypatch.setattr(build_module.jobs, "job", lambda template, _: job(template, "Not_A_Name"))
    code, out, err = build("--no-wait")
    assert (code, out) == (1, "")
    _, refusal = err.splitlines()
    assert refusal.startswith(f'{players.api.url} answers 422: Job.batch "Not_A_Name" is invalid: ')


@pytest.mark.parametrize(
    ("moved", "account", "cluster"),
    [
        ({"vllm-eks/cluster": "inference-prod"}, "000000000000", "inference-prod"),
        ({"vllm-eks/account": "999988887777"}, "999988887777", "inference-dev"),
    ],
    ids=["cluster", "account"],
)
def test_a_kubeconfig_of_another_cluster_is_noticed(build, players, moved, account, cluster):
    """Server, namespace and even the key may be the same there."""
    players.cron_job("gemma-cache-build", {"args": ["x"]}, whose=WHOSE | moved)
    assert build("--no-wait") == (
        1,
        "",
        f"CronJob {players.namespace}/gemma-cache-build: of cluster {cluster} of account {account}, and the stack file"
        " names cluster inference-dev of account 000000000000; nothing is done in another cluster\n",
    )
    assert players.jobs() == []


@pytest.mark.parametrize("lost", [*WHOSE, None])
def test_a_template_that_does_not_say_whose_it_is_is_an_older_one(build, players, lost):
    whose = {name: value for name, value in WHOSE.items() if lost and lost != name}
    players.cron_job("gemma-cache-build", {"args": ["x"]}, whose=whose)
    assert build("--no-wait") == (
        1,
        "",
        f"CronJob {players.namespace}/gemma-cache-build: of an older program, it does not say which cluster's it is:"
        " run `pulumi up` first\n",
    )
