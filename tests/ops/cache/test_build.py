"""`ops cache build` before a real API server; the tests play the Job controller and the kubelet."""

import json

import pytest

REPORT = (
    "cache-build: outcome={} fingerprint=published base=present bytes=1 base_bytes=1 files=2"
    ' cold=160.0 warm=40.0 seconds=205.1 reason="{}"'
)
COSTS = (
    "Job {}/gemma-cache-build on a GPU of pool rtx-pro-6000: two starts on g7e.2xlarge, 258 + 76 = 334 s as predicted"
    " (nobody knows the price: gpuPools.<name>.prices), then the upload\n"
)


def test_the_job_is_the_one_that_kubectl_would_make_of_the_template(build, template, players):
    code, out, err = build("--no-wait")
    job = players.job()
    name, metadata = job["metadata"]["name"], job["metadata"]
    assert (code, err) == (0, COSTS.format(players.namespace))
    assert name == "gemma-cache-build"
    assert out == (
        f"Job {players.namespace}/{name}: made; follow it: kubectl -n {players.namespace} logs -f job/{name}\n"
    )
    assert metadata["annotations"] == {"note": "kept", "cronjob.kubernetes.io/instantiate": "manual"}
    assert metadata["labels"]["of"] == "template"
    owner = {"apiVersion": "batch/v1", "kind": "CronJob", "name": "gemma-cache-build", "controller": True}
    assert metadata["ownerReferences"] == [{**owner, "uid": template["metadata"]["uid"]}]
    made, wanted = job["spec"], template["spec"]["jobTemplate"]["spec"]
    assert (made["backoffLimit"], made["podReplacementPolicy"]) == (2, "Failed")
    assert made["template"]["spec"]["containers"] == wanted["template"]["spec"]["containers"]


@pytest.mark.parametrize(
    ("outcome", "container", "code"),
    [
        ("published", 0, 0),
        ("present", 0, 0),
        ("secret", 1, 1),
        ("not-warm", 1, 1),
        ("denied", 1, 1),
        ("unclear", 3, 3),
    ],
)
def test_the_programs_own_line_is_printed_and_decides(build, template, players, outcome, container, code):
    line = REPORT.format(outcome, "why")
    with players.playing(lambda: players.end(players.job(), code=container, message=f"{line}\n")):
        exit_code, out, err = build()
    assert (exit_code, out) == (code, f"{line}\n")
    assert err.startswith(f"{COSTS.format(players.namespace)}gemma-cache-build: pending")


def test_a_pod_that_left_no_report_is_unclear(build, template, players):
    with players.playing(lambda: players.end(players.job(), code=137, message="", reason="OOMKilled")):
        code, out, _ = build()
    name = players.job()["metadata"]["name"]
    assert (code, out) == (
        3,
        f"Job {players.namespace}/{name}: ended without a report"
        " (exit code 137; BackoffLimitExceeded: said by the controller: OOMKilled)\n",
    )


def test_a_job_whose_pods_are_gone_is_unclear(build, template, players):
    def ends() -> None:
        players.ended(players.job()["metadata"]["name"], succeeded=False, reason="DeadlineExceeded")

    with players.playing(ends):
        code, out, _ = build()
    assert code == 3
    assert out.endswith(": ended without a report (no pod is left; DeadlineExceeded: said by the controller)\n")


def test_a_build_of_the_candidate_has_the_same_name(build, template, players, ops, edit):
    """One name for both: the API server lets one of the two through."""
    candidate = {"version": "0.33.0", "image": "registry.example/vllm:v2", "args": {}}
    edit(lambda settings: settings["servers"]["gemma"].update(candidate=candidate))
    key = json.loads(ops("cache", "key", "--server", "gemma", "--candidate", "--json")[1])
    players.cron_job("gemma-cache-build-candidate", {"args": [f"--fingerprint={key['fingerprint']}"]})
    assert build("--no-wait", "--candidate")[0] == 0
    made = players.job()["metadata"]
    assert (made["name"], made["ownerReferences"][0]["name"]) == ("gemma-cache-build", "gemma-cache-build-candidate")


def test_what_an_earlier_job_of_the_name_said_decides_nothing(build, template, players):
    """Its pods go in the background, and may be there for longer than it is."""
    build("--no-wait")
    players.end(players.job(), code=0, message=REPORT.format("published", "of the first"))

    def second_ends() -> None:
        players.ended(players.job(other_than=first)["metadata"]["name"], succeeded=False, reason="DeadlineExceeded")

    first = players.job()["metadata"]["uid"]
    with players.playing(second_ends):
        code, out, _ = build()
    assert code == 3
    assert out.endswith(": ended without a report (no pod is left; DeadlineExceeded: said by the controller)\n")


def test_a_job_that_somebody_deletes_is_unclear(build, template, players):
    with players.playing(lambda: players.delete_job(players.job()["metadata"]["name"])):
        code, out, err = build()
    assert (code, out) == (3, "")
    assert err.endswith(": gone; somebody deleted it, and how it ended nobody knows\n")


@pytest.fixture
def asked(ops, players):
    """`asked()`: the build without a --yes. Were it made, nobody would wait for its end."""
    return lambda: ops("cache", "build", "--server", "gemma", "--no-wait", "--kubeconfig", players.kubeconfig)


def test_nothing_is_made_when_nobody_is_there_to_ask(asked, template, players):
    said = COSTS.format(players.namespace) + "nobody to ask, standard input is no terminal: --yes does it\n"
    assert asked() == (2, "", said)
    assert players.jobs() == []


@pytest.mark.parametrize(("answer", "code", "made"), [("y\n", 0, 1), ("n\n", 1, 0), ("\n", 1, 0), ("", 1, 0)])
def test_a_build_is_made_when_somebody_says_so(ops, template, players, monkeypatch, answer, code, made):
    monkeypatch.setattr("ops.consent.is_somebody_there", lambda: True)
    where = ("--kubeconfig", players.kubeconfig, "--no-wait")
    found, _, err = ops("cache", "build", "--server", "gemma", *where, given=answer)
    assert (found, len(players.jobs())) == (code, made)
    assert err == COSTS.format(players.namespace) + "Go on? [y/N] " + ("" if made else "nothing was changed\n")


def test_a_price_of_the_stack_file_is_in_the_question(asked, edit, template):
    prices = {"g7e.2xlarge": 3.6}
    edit(lambda settings: settings["gpuPools"]["rtx-pro-6000"].update(prices=prices))
    assert "258 + 76 = 334 s as predicted (0.33 USD on-demand), then the upload\n" in asked()[2]


def test_a_program_reads_the_jobs_name_or_its_report(build, template, players):
    made = json.loads(build("--no-wait", "--json")[1])
    follow = f"kubectl -n {players.namespace} logs -f job/gemma-cache-build"
    assert made == {"namespace": players.namespace, "job": "gemma-cache-build", "follow": follow}
    players.ended("gemma-cache-build", succeeded=True)
    first = players.job()["metadata"]["uid"]
    line = REPORT.format("not-warm", "it compiled = again")

    def ends() -> None:
        players.end(players.job(other_than=first), code=1, message=line)

    with players.playing(ends):
        code, out, _ = build("--json")
    found = json.loads(out)
    assert (code, found["exitCode"], found["said"]) == (1, 1, line)
    assert (found["report"]["outcome"], found["report"]["reason"]) == ("not-warm", "it compiled = again")
