"""What keeps `ops cache build` from making a Job, before a real API server."""

import json

from tests.ops.players import IMAGE


def test_two_builds_of_a_server_never_run_at_once(build, template, players):
    """Both would boot an engine for the same two keys; also when the other is the candidate's."""
    build("--no-wait")
    running = players.job()["metadata"]["name"]
    said = (
        f"servers.gemma.cacheBuild: {running} is still running; follow it:"
        f" kubectl -n {players.namespace} logs -f job/{running}\n"
    )
    assert build("--no-wait") == (1, "", said)
    players.ended(running, succeeded=False)
    assert build("--no-wait")[0] == 0
    assert len(players.jobs()) == 2


def test_another_servers_build_is_in_nobodys_way(build, template, players, ops):
    other = players.cron_job("gemma-two-cache-build", {"args": ["x"]})
    from ops.cluster.jobs import job

    players.create(
        f"/apis/batch/v1/namespaces/{players.namespace}/jobs",
        "batch/v1",
        "Job",
        "other",
        {"spec": job(other, "x")["spec"]},
        ownerReferences=job(other, "x")["metadata"]["ownerReferences"],
    )
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
    assert len(players.jobs()) == 1


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
    from ops.cluster import jobs

    monkeypatch.setattr(jobs, "random_name", lambda _: "Not_A_Name")
    code, out, err = build("--no-wait")
    assert (code, out) == (1, "")
    assert err.startswith(f'{players.api.url} answers 422: Job.batch "Not_A_Name" is invalid: ')
    assert err.count("\n") == 1
