"""`ops weights` before a real API server."""

import json
from unittest import mock

import pytest

from ops.cluster import jobs
from ops.cluster.follow import End
from ops.weights.jobs import verdict
from tests.ops.players import WHOSE

COMMIT = "0123456789abcdef0123456789abcdef01234567"
URI = "s3://vllm-eks-dev-models-000000000000/models/gemma-4-31b-it-nvfp4/r1/"
CONTAINER = {"name": "weights", "command": ["python", "-B", "/scripts/onboard.py"]}


@pytest.fixture
def template(players):
    return players.cron_job("weights-onboard", CONTAINER)


@pytest.fixture
def onboard(ops, players):
    def run(*more, revision=COMMIT, repository="nvidia/Gemma-4-31B-IT-NVFP4"):
        where = ("--repository", repository, "--revision", revision, "--kubeconfig", players.kubeconfig)
        return ops("weights", "onboard", "--server", "gemma", "--yes", *where, *more)

    return run


def container(job):
    (found,) = job["spec"]["template"]["spec"]["containers"]
    return found


def test_the_job_copies_to_where_the_server_looks(onboard, template, players):
    code, out, _ = onboard("--include", "*.json", "--include", "*.safetensors", "--exclude", "x*", "--allow-pickle")
    job = players.job()
    name = job["metadata"]["name"]
    assert code == 0
    assert name.startswith("onboard-gemma-4-31b-it-nvfp4-")
    assert out.startswith(f"Job {players.namespace}/{name}: made; follow it: kubectl ")
    assert container(job)["command"] == CONTAINER["command"]
    assert container(job)["args"] == [
        "--repository=nvidia/Gemma-4-31B-IT-NVFP4",
        f"--revision={COMMIT}",
        f"--to={URI}",
        "--include=*.json",
        "--include=*.safetensors",
        "--exclude=x*",
        "--allow-pickle",
    ]
    assert job["metadata"]["ownerReferences"][0]["name"] == "weights-onboard"


@pytest.mark.parametrize("revision", ["main", "v1.0", COMMIT[:12], COMMIT.upper()])
def test_a_revision_that_moves_is_refused_with_the_way_to_its_commit(ops, folder, revision):
    """Before anything is asked of AWS or the cluster."""
    asked = ("weights", "onboard", "--server", "gemma", "--repository", "o/n", "--revision", revision)
    code, out, err = ops(*asked)
    assert (code, out) == (1, "")
    assert err == (
        f"--revision '{revision}' is no commit of 40 hex digits, and a name moves. Resolve it once: curl -s"
        f" https://huggingface.co/api/models/o/n/revision/{revision} | python3 -c"
        " 'import json, sys; print(json.load(sys.stdin)[\"sha\"])'"
        ' (private or gated: add -H "Authorization: Bearer $HF_TOKEN")\n'
    )


@pytest.mark.parametrize("repository", ["gemma", "a/b/c", "../b", "a/b;c"])
def test_a_repository_is_an_owner_and_a_name(ops, folder, repository):
    asked = ("weights", "onboard", "--server", "gemma", "--repository", repository, "--revision", COMMIT)
    assert ops(*asked) == (1, "", f"--repository {repository!r}: expected <owner>/<name>\n")


def test_a_folder_of_another_commit_is_refused(ops, edit):
    folder = URI.replace("r1", "f" * 40)
    edit(lambda settings: settings["servers"]["gemma"]["model"].update(uri=folder))
    asked = ("weights", "onboard", "--server", "gemma", "--repository", "o/n", "--revision", COMMIT)
    assert ops(*asked) == (1, "", f"'{folder}': the folder is named after another commit than {COMMIT}\n")


def test_two_never_write_into_one_folder(onboard, template, players):
    """Each would drop the other's unfinished uploads."""
    onboard()
    name = players.job()["metadata"]["name"]
    code, out, err = onboard(revision="f" * 40)
    assert (code, out) == (1, "")
    assert err == (
        f"Job {players.namespace}/{name}: still running; follow it: kubectl -n {players.namespace} logs -f job/{name}\n"
    )


def test_one_that_has_ended_gives_way(onboard, template, players):
    """It stays for a day, to be read: nobody who has mended the arguments waits for that."""
    onboard()
    before = players.job()["metadata"]
    players.ended(before["name"], succeeded=False)
    assert onboard("--exclude", "stray.safetensors")[0] == 0
    after = players.job()
    assert after["metadata"]["name"] == before["name"]
    assert after["metadata"]["uid"] != before["uid"]
    assert container(after)["args"][-1] == "--exclude=stray.safetensors"


@pytest.mark.parametrize(
    ("container_code", "said", "code"),
    [(0, f"onboard: complete: {URI}", 0), (1, "onboard: o/n: x: missing", 1), (3, "onboard: could not tell: x", 3)],
)
def test_waiting_ends_with_the_programs_own_words_and_code(onboard, template, players, container_code, said, code):
    with players.playing(lambda: players.end(players.job(), code=container_code, message=f"{said}\n")):
        assert onboard("--wait")[:2] == (code, f"{said}\n")


@pytest.mark.parametrize(
    ("more", "arguments"),
    [((), [URI]), (("--deep",), [URI, "--deep"]), (("--deep", "--allow-pickle"), [URI, "--deep", "--allow-pickle"])],
    ids=["quick", "deep", "pickles"],
)
def test_the_check_runs_its_own_program_from_the_same_folder(ops, template, players, more, arguments):
    said = "verify: whole: 12 files, 1 bytes (sizes and layout checked), o/n at c"
    with players.playing(lambda: players.end(players.job(), code=0, message=said)):
        found = ops("weights", "verify", "--server", "gemma", "--yes", "--kubeconfig", players.kubeconfig, *more)
    assert found[:2] == (0, f"{said}\n")
    assert container(players.job())["command"] == ["python", "-B", "/scripts/verify.py"]
    assert container(players.job())["args"] == arguments
    assert players.job()["metadata"]["name"].startswith("weights-onboard-")


@pytest.mark.parametrize("command", ["onboard", "verify"])
def test_without_a_template_it_says_what_makes_one(ops, players, command):
    where = ("--repository", "o/n", "--revision", COMMIT) if command == "onboard" else ()
    assert ops("weights", command, "--server", "gemma", *where, "--kubeconfig", players.kubeconfig) == (
        1,
        "",
        f"CronJob {players.namespace}/weights-onboard: not there; `pulumi up` makes it\n",
    )


@pytest.mark.parametrize("command", ["onboard", "verify"])
def test_a_kubeconfig_of_another_cluster_is_noticed(ops, players, command, monkeypatch):
    """Else the model would be copied there, with the rights of the other one."""
    monkeypatch.setattr(jobs, "start", mock.Mock(side_effect=AssertionError("a Job is made")))
    players.cron_job("weights-onboard", CONTAINER, whose=WHOSE | {"vllm-eks/cluster": "inference-prod"})
    where = ("--repository", "o/n", "--revision", COMMIT) if command == "onboard" else ()
    assert ops("weights", command, "--server", "gemma", *where, "--kubeconfig", players.kubeconfig) == (
        1,
        "",
        f"CronJob {players.namespace}/weights-onboard: of cluster inference-prod of account 000000000000, and the stack"
        " file names cluster inference-dev of account 000000000000; nothing is done in another cluster\n",
    )


@pytest.mark.parametrize(
    ("end", "line", "code"),
    [
        (
            End(succeeded=False, code=None, message="", reason="DeadlineExceeded"),
            "J: ended without a report (no pod is left; DeadlineExceeded)",
            3,
        ),
        (
            End(succeeded=False, code=137, message="", reason="OOMKilled"),
            "J: ended without a report (exit code 137; OOMKilled)",
            3,
        ),
        (End(succeeded=False, code=2, message="usage: x", reason=""), "usage: x", 1),
        (End(succeeded=True, code=None, message="", reason=""), "J: ended without a report (no pod is left)", 0),
    ],
)
def test_an_end_without_words_is_told_by_kubernetes(end, line, code):
    assert verdict("J", end) == (line, code)


def test_a_copy_says_how_much_it_moves_before_it_asks(ops, template, players):
    asked = ("--repository", "o/n", "--revision", COMMIT, "--kubeconfig", players.kubeconfig)
    code, out, err = ops("weights", "onboard", "--server", "gemma", *asked)
    said, question = err.splitlines()
    assert (code, out) == (2, "")
    assert said.startswith(f"Job {players.namespace}/onboard-gemma-4-31b-it-nvfp4-")
    assert said.endswith(
        f": copies o/n at {COMMIT} to {URI}, 30.5 GiB (model.sizeGib) from the internet through the NAT gateway, on a"
        " system node, no GPU; AWS bills what passes the gateway, and what lies in S3"
    )
    assert question == "nobody to ask, standard input is no terminal: --yes does it"
    assert players.jobs() == []


def test_a_check_is_a_job_too_and_asks(ops, template, players, monkeypatch):
    monkeypatch.setattr(jobs, "start", mock.Mock(side_effect=AssertionError("a Job is made")))
    code, out, err = ops("weights", "verify", "--server", "gemma", "--deep", "--kubeconfig", players.kubeconfig)
    assert (code, out, players.jobs()) == (2, "", [])
    assert f": reads and hashes 30.5 GiB (model.sizeGib) of {URI}, on a system node, no GPU; " in err


def test_a_program_reads_what_became_of_a_copy(onboard, template, players):
    with players.playing(lambda: players.end(players.job(), code=0, message="onboard: complete")):
        code, out, _ = onboard("--wait", "--json")
    found = json.loads(out)
    assert (code, found["said"], found["exitCode"], found["report"]) == (0, "onboard: complete", 0, {})
