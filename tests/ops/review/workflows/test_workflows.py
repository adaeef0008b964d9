"""The workflows keep to the rules that make them safe on a stranger's code, and each rule refuses what breaks it."""

import os
import re
import subprocess

import pytest
import yaml

from ops.rights.cli import PREVIEWS
from rehearsal.toolchain import actionlint, etcd, golang, pulumi_cli
from tests.harness import ROOT
from tests.ops.review.workflows.checks import PINNED, wrong

FOLDER = ROOT / ".github/workflows"
FILES = sorted(FOLDER.glob("*"))
STACKS = sorted(it.name.split(".")[1] for it in ROOT.glob("Pulumi.*.yaml"))
OTHER = "0" * 40


def text(name):
    return (FOLDER / f"{name}.yml").read_text()


def test_there_are_four():
    assert [it.name for it in FILES] == ["comment.yml", "drift.yml", "pull-request.yml", "release.yml"]


@pytest.mark.parametrize("file", FILES, ids=lambda it: it.stem)
def test_nothing_is_wrong_with_it(file):
    assert wrong(file.read_text()) == []


CHECKOUT = f"actions/checkout@{PINNED['actions/checkout'][0]} # v6.0.2"
BROKEN = [
    ("drift", CHECKOUT, "actions/checkout@v6", ["actions/checkout@v6 # : not a pin that was looked up"] * 2),
    (
        "drift",
        CHECKOUT,
        f"actions/checkout@{OTHER} # v6.0.2",
        [f"actions/checkout@{OTHER} # v6.0.2: not a pin that was looked up"] * 2,
    ),
    ("comment", "\npermissions: {}\n", "\npermissions: read-all\n", ["permissions: not {} at the top"]),
    (
        "pull-request",
        "  pull_request:\n",
        "  pull_request:\n  pull_request_target:\n",
        ["on: pull_request_target runs with secrets over somebody else's code"],
    ),
    (
        "pull-request",
        "- run: bash .ci/run",
        "- run: bash .ci/run\n        env: {T: '${{ secrets.T }}'}",
        ["secrets: nothing here needs one"],
    ),
    ("comment", "  cancel-in-progress: false\n", "", ["concurrency: not said whether a newer run cancels this one"]),
    (
        "release",
        "cancel-in-progress: false",
        "cancel-in-progress: true",
        ["concurrency: an `up` may be cancelled"],
    ),
    ("comment", "    timeout-minutes: 15\n", "", ["comment: no timeout-minutes"]),
    ("comment", "    permissions:\n", "    environment:\n", ["comment: no permissions of its own"]),
    (
        "drift",
        "      id-token: write\n",
        "      id-token: write\n      issues: write\n",
        ["look: it may write on GitHub and has a role in AWS"],
    ),
    (
        "pull-request",
        "    timeout-minutes: 120\n    permissions:\n",
        "    timeout-minutes: 120\n    permissions:\n      pull-requests: write\n",
        ["checks: it runs a pull request's code and may write"],
    ),
    (
        "pull-request",
        "github.event.pull_request.head.repo.full_name == github.repository",
        "true",
        ["preview: a fork's code can ask for a role"],
    ),
    (
        "comment",
        "          persist-credentials: false\n",
        "",
        ["comment: checkout keeps its token on the disk"],
    ),
    (
        "comment",
        "ref: ${{ github.event.repository.default_branch }}",
        "ref: ${{ github.event.workflow_run.head_sha }}",
        ["comment: checkout of something else than the default branch, with a token that may write"],
    ),
    (
        "pull-request",
        '- run: mkdir results && echo "$NUMBER"',
        '- run: mkdir results && echo "${{ github.event.pull_request.title }}"',
        ["rehearse: run: an expression becomes part of the script"],
    ),
    ("comment", "make dependencies", "make dependancies", ["comment: make dependancies: no such target"]),
    ("comment", "ops review body", "ops review bodies", ["comment: ops review: no command 'bodies'"]),
    ("comment", ":+--fork}", ":+--forks}", ["comment: ops review body: No such option: --forks"]),
    (
        "drift",
        " --repository \"$GITHUB_REPOSITORY\"",
        "",
        ["report: ops review drift: too much [], missing ['repository']"],
    ),
]  # fmt: skip


@pytest.mark.parametrize(("name", "line", "becomes", "said"), BROKEN, ids=[it[3][0][:50] for it in BROKEN])
def test_each_rule_refuses_what_breaks_it(name, line, becomes, said):
    assert line in text(name)
    assert wrong(text(name).replace(line, becomes)) == said


def ran(*arguments):
    # shellcheck stands beside this Python
    path = f"{ROOT / '.venv/bin'}:{os.environ['PATH']}"
    command = [str(actionlint.find().path), "-no-color", "-shellcheck", "shellcheck", *arguments]
    done = subprocess.run(
        command, cwd=ROOT, env={**os.environ, "PATH": path}, capture_output=True, text=True, check=False
    )
    return done.returncode, done.stdout, done.stderr


def test_actionlint_asks_for_the_go_that_pypi_packages():
    assert golang.needed(actionlint.MODULE) == golang.needed(etcd.MODULE)


def test_actionlint_finds_nothing():
    assert ran(*map(str, FILES)) == (0, "", "")


@pytest.mark.parametrize(
    ("name", "line", "becomes", "said"),
    [
        ("drift", "needs: look", "needs: looks", 'job "report" needs job "looks" which does not exist'),
        ("drift", "matrix.stack }}\n          PULUMI", "matrix.stacks }}\n          PULUMI", '"stacks" is not defined'),
        ("drift", "17 5 * * *", "17 25 * * *", "invalid CRON format"),
        ("comment", '"$RUNNER_TEMP/body.md"', "$RUNNER_TEMP/body.md", "SC2086"),
        ("comment", "actions: read", "action: read", 'unknown permission scope "action"'),
    ],
    ids=["needs", "matrix", "cron", "shell", "permission"],
)
def test_actionlint_finds_what_is_broken(tmp_path, name, line, becomes, said):
    assert line in text(name)
    file = tmp_path / "broken.yml"
    file.write_text(text(name).replace(line, becomes))
    code, out, _ = ran(str(file))
    assert code == 1
    assert said in out


def test_each_stack_file_is_looked_at_and_can_be_released():
    jobs = yaml.safe_load(text("pull-request"))["jobs"]
    inputs = yaml.safe_load(text("release"))[True]["workflow_dispatch"]["inputs"]
    assert sorted(jobs["rehearse"]["strategy"]["matrix"]["stack"]) == STACKS
    assert sorted(inputs["stack"]["options"]) == STACKS


def test_the_real_previews_run_the_CLI_of_the_rehearsal():
    steps = [
        step
        for file in FILES
        for job in yaml.safe_load(file.read_text())["jobs"].values()
        for step in job["steps"]
        if step.get("uses", "").startswith("pulumi/actions@")
    ]
    assert len(steps) == 5
    assert {it["with"]["pulumi-version"] for it in steps} == {pulumi_cli.pinned_version()}


def test_nobody_has_AWS_credentials_while_something_is_installed():
    """What installs runs the code of packages."""
    for file in FILES:
        for name, job in yaml.safe_load(file.read_text())["jobs"].items():
            told = [it.get("uses", "").partition("@")[0] + it.get("run", "") for it in job["steps"]]
            roles = [place for place, it in enumerate(told) if it.startswith("aws-actions/")]
            installs = [place for place, it in enumerate(told) if it.startswith(("make ", "pulumi/actions"))]
            assert not roles or max(installs) < min(roles), (file.name, name)


def test_a_release_is_planned_approved_and_then_checked():
    jobs = yaml.safe_load(text("release"))["jobs"]
    environments = {name: it["environment"] for name, it in jobs.items()}
    assert environments == {
        "plan": "preview-${{ inputs.stack }}",
        "candidate": "${{ inputs.stack }}",
        "release": "${{ inputs.stack }}",
        "check": "check-${{ inputs.stack }}",
    }
    ups = [name for name, it in jobs.items() if any("pulumi up" in step.get("run", "") for step in it["steps"])]
    assert ups == ["candidate", "release"]
    assert "needs.plan.result == 'success'" in jobs["release"]["if"]


def test_previews_run_in_the_environment_whose_jobs_the_printed_role_trusts():
    found = {
        job["environment"]
        for file in FILES
        for job in yaml.safe_load(file.read_text(encoding="utf-8"))["jobs"].values()
        if any("PREVIEW_ROLE" in str(step.get("with")) for step in job.get("steps", []))
    }
    assert {re.sub(r"\$\{\{.*?\}\}", "STACK", it) for it in found} == {f"{PREVIEWS}-STACK"}
