"""Which commit is meant, a checkout that always goes again, and what a revision's own command may say."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

from ops.failures import RefusedError, UnclearError, UsageError
from ops.impact.revision import git, requirements
from ops.impact.revision.run import Checkout, run
from tests.harness import ROOT
from tests.ops.impact.conftest import committed
from tests.ops.impact.conftest import git as asked


@pytest.mark.parametrize(
    ("revision", "said"),
    [
        ("nope", "--base nope: not a revision that git knows"),
        ("^main", "--base ^main: not a revision that git knows"),
        ("main..main", "--base main..main: not a revision that git knows"),
        ("--help", "--base --help: not a revision that git knows"),
        ("a\nb", "--base a\\nb: not a revision that git knows"),
        ("feature", "--base feature: not a revision that git knows; origin/feature is one"),
    ],
)
def test_a_revision_is_the_name_of_one_commit(small, revision, said):
    asked(small, "update-ref", "refs/remotes/origin/feature", "HEAD")
    with pytest.raises(UsageError) as error:
        git.commit(revision, "--base")
    assert str(error.value) == said


def test_a_shallow_clone_is_named(small, tmp_path, monkeypatch):
    (small / "more").write_text("x")
    committed(small)
    asked(tmp_path, "clone", "--quiet", "--depth=1", f"file://{small}", "shallow")
    monkeypatch.chdir(tmp_path / "shallow")
    with pytest.raises(UsageError, match="this clone is shallow: git fetch --unshallow"):
        git.commit("HEAD~1", "--base")


def test_a_folder_of_no_repository_is_usage(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UsageError) as error:
        git.commit("main", "--base")
    assert str(error.value).startswith("--base main: not a git repository")


def test_without_git_nothing_can_be_told(small, monkeypatch):
    monkeypatch.setenv("PATH", "")
    with pytest.raises(UnclearError) as error:
        git.commit("main", "--base")
    assert str(error.value) == "--base main: git is not on PATH"


def test_a_checkout_is_of_the_commit_and_goes_whatever_happens(small):
    (small / "Pulumi.dev.yaml").write_text("dirty\n")

    def fail(folder):
        assert (folder / "Pulumi.dev.yaml").read_text() == "config: {}\n"
        (folder / "made").write_text("by the program")
        places.append(folder)
        raise ZeroDivisionError

    places = []
    with (
        pytest.raises(ZeroDivisionError),
        git.checked_out(git.commit("main", "--base"), "--base") as folder,
    ):
        fail(folder)
    assert [it.exists() for it in places] == [False]
    assert asked(small, "worktree", "list").count("\n") == 0
    assert (small / "Pulumi.dev.yaml").read_text() == "dirty\n"


def test_a_project_below_the_repositorys_root_is_found_there(small, monkeypatch):
    (small / "below").mkdir()
    (small / "below" / "Pulumi.dev.yaml").write_text("below\n")
    commit = committed(small)
    monkeypatch.chdir(small / "below")
    with git.checked_out(commit, "--base") as folder:
        assert (folder / "Pulumi.dev.yaml").read_text() == "below\n"


def test_hooks_of_the_user_are_not_asked(small):
    hook = small / ".git" / "hooks" / "post-checkout"
    hook.write_text("#!/bin/sh\nexit 1\n")
    hook.chmod(0o755)
    with git.checked_out(git.commit("main", "--base"), "--base") as folder:
        assert folder.exists()


def test_a_commit_that_is_being_made_keeps_its_index(small, monkeypatch):
    """`git commit --all` gives its hooks an index of their own: a checkout into that one would be what is committed."""
    index = small / ".git" / "index.lock"
    (small / "new").write_text("x")
    asked(small, "add", "new")
    index.write_bytes((small / ".git" / "index").read_bytes())
    before = index.read_bytes()
    monkeypatch.setenv("GIT_INDEX_FILE", str(index))
    with git.checked_out(git.commit("main", "--base"), "--base") as folder:
        assert (folder / "Pulumi.dev.yaml").exists()
    assert index.read_bytes() == before


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("typer==0.0.1\n", "typer==0.0.1, and it is {typer}"),
        ("nowhere==1  # why\n-r other.in\n\n", "nowhere==1, and it is missing"),
        (
            "a==1\nb==1\nc==1\nd==1\n",
            "a==1, and it is missing, b==1, and it is missing, c==1, and it is missing and 1 more",
        ),
    ],
)
def test_other_packages_are_named(tmp_path, text, said):
    from importlib.metadata import version

    (tmp_path / "requirements.in").write_text(text)
    with pytest.raises(UnclearError) as error:
        requirements.check(tmp_path, "main")
    assert str(error.value) == (
        f"main: its requirements.in is not what this Python has: {said.format(typer=version('typer'))};"
        " a change of packages is compared by `pulumi preview`"
    )


def test_the_same_packages_pass(tmp_path):
    assert requirements.check(ROOT, "here") is None
    requirements.check(tmp_path, "a revision without the file")
    (tmp_path / "requirements.in").write_text('typer\nnowhere==1 ; python_version < "3"\nnot a requirement\n')
    requirements.check(tmp_path, "here")


def program(folder: Path, body: str) -> None:
    (folder / "said.py").write_text(textwrap.dedent(body))


def failing(folder: Path, said: str, code: int) -> None:
    program(folder, f"import sys; sys.stderr.write({said!r}); sys.exit({code})")


TRACE = """Traceback (most recent call last):
  File "x", line 1
NameError: name x

This is a bug in the program, not in the stack file.
"""
WRONG = "the stack file has 1 mistake:\n  network.cidr: wrong\n"
CRASH = "side: `python -m said` crashes: NameError: name x"
REFUSED = f"side is refused by its own program:\n{WRONG.strip()}"
SECRETS = (
    "the stack needs secrets, and a comparison decrypts none: give each with --secret PATH=VALUE (any value does);"
    " side says:\npass --secret x=VALUE"
)
ABSENT = "cannot compare: side has no `python -m said` as it is asked here: "
PROBLEMS = [
    (WRONG, 1, RefusedError, REFUSED, f"cannot compare: {REFUSED}"),
    ("pass --secret x=VALUE\n", 1, UsageError, SECRETS, SECRETS),
    (TRACE, 1, RefusedError, CRASH, CRASH),
    ("No such command 'key'.\n", 2, UnclearError, *[f"{ABSENT}No such command 'key'."] * 2),
    ("python: No module named ops\n", 1, UnclearError, *[f"{ABSENT}python: No module named ops"] * 2),
    ("", -9, UnclearError, *["cannot compare: side cannot run `python -m said` as it is asked here: exit code -9"] * 2),
]


@pytest.mark.parametrize("problem", PROBLEMS, ids=["stack file", "secret", "crash", "command", "module", "killed"])
@pytest.mark.parametrize("proposed", [True, False])
def test_what_is_wrong_with_the_change_is_refused_and_what_is_wrong_with_the_base_cannot_be_told(
    tmp_path, problem, proposed
):
    said, code, kind, of_head, of_base = problem
    if code < 0:
        program(tmp_path, "import os, signal; os.kill(os.getpid(), signal.SIGKILL)")
    else:
        failing(tmp_path, said, code)
    expected = kind if proposed or kind is UsageError else UnclearError
    with pytest.raises(expected) as error:
        run(Checkout(title="side", folder=tmp_path, proposed=proposed), "said")
    assert str(error.value) == (of_head if proposed else of_base)


def test_a_revision_runs_its_own_modules(tmp_path, monkeypatch):
    program(tmp_path, "import json.tool, sys; print(sys.path[0], sys.argv[1:])")
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.setenv("PYTHONSAFEPATH", "1")
    out = run(Checkout(title="side", folder=tmp_path, proposed=True), "said", "--json")
    assert out == f"{tmp_path} ['--json']\n"


@pytest.mark.parametrize(
    ("number", "code", "word"),
    [(signal.SIGINT, 130, "interrupted"), (signal.SIGTERM, 143, "terminated"), (signal.SIGHUP, 129, "hung up")],
)
def test_a_signal_leaves_nothing_behind(small, tmp_path, number, code, word):
    """Neither the checkout, nor what runs in it: a rehearsal gets the time to take down its engine."""
    (small / "rehearsal.py").write_text(
        "import pathlib, signal, sys, time\n"
        f"place = pathlib.Path({str(tmp_path)!r})\n"
        "signal.signal(signal.SIGTERM, lambda *_: ((place / 'ended').touch(), sys.exit(1)))\n"
        "(place / 'started').touch()\n"
        "time.sleep(60)\n"
    )
    committed(small)
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    environment = {**os.environ, "TMPDIR": str(temporary), "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", "ops", "impact", "--base", "main"]
    process = subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True)
    for _ in range(400):
        if (tmp_path / "started").exists():
            break
        time.sleep(0.05)
    process.send_signal(number)
    _, said = process.communicate()
    assert (process.returncode, said.splitlines()[-1]) == (code, f"{word}: nothing is left behind")
    assert (tmp_path / "ended").exists()
    assert [*temporary.iterdir()] == []
    assert asked(small, "worktree", "list").count("\n") == 0
