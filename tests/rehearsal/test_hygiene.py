"""A rehearsal leaves nothing behind and takes nothing in."""

from __future__ import annotations

import hashlib
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from rehearsal.toolchain import cache, pulumi_cli
from tests.rehearsal.conftest import ROOT

PROVIDER = "aws.Provider('p', region='eu-west-1')"
# Says that it is running, then hangs as a long computation would.
HANGS = "import pathlib, time\npathlib.Path({ready!r}).touch()\ntime.sleep(120)\n"


def _processes(mark: Path) -> list[str]:
    listed = subprocess.run(["ps", "-A", "-ww", "-o", "args="], capture_output=True, text=True, check=True)
    return [line for line in listed.stdout.splitlines() if str(mark) in line]


def _tree(folder: Path) -> dict[str, str]:
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def test_a_success_leaves_no_file_and_no_change(run, project, temporary):
    place = project(f"import pulumi, pulumi_aws as aws\np = {PROVIDER}\n")
    before = _tree(place)
    assert run("preview", "--stack", "dev", "--project", str(place)).returncode == 0
    assert list(temporary.iterdir()) == []
    assert _tree(place) == before


def test_a_failure_leaves_no_file(run, temporary, project):
    place = project("raise RuntimeError('x')\n")
    assert run("preview", "--stack", "dev", "--project", str(place)).returncode == 1
    assert list(temporary.iterdir()) == []


@pytest.mark.parametrize(
    ("number", "to_group", "code", "word"),
    [
        (signal.SIGINT, True, 130, "interrupted"),
        (signal.SIGINT, False, 130, "interrupted"),
        (signal.SIGTERM, False, 143, "terminated"),
        (signal.SIGHUP, True, 129, "hung up"),
    ],
    ids=["ctrl-c", "SIGINT", "SIGTERM", "closed terminal"],
)
def test_a_signal_leaves_no_file_and_no_process(project, temporary, tmp_path, number, to_group, code, word):
    ready = tmp_path / "ready"
    place = project(HANGS.format(ready=str(ready)))
    process = subprocess.Popen(
        [sys.executable, "-m", "rehearsal", "preview", "--stack", "dev", "--project", str(place)],
        cwd=ROOT,
        env={**os.environ, "TMPDIR": str(temporary)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        # as a shell starts its background jobs: with SIGINT ignored
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_IGN),  # noqa: PLW1509 - no thread runs here
    )
    for _ in range(600):
        if ready.exists():
            break
        time.sleep(0.05)
    # The engine runs and can be seen, or the last assertion would prove nothing.
    assert _processes(temporary)
    started = time.monotonic()
    (os.killpg if to_group else os.kill)(process.pid, number)
    # Impatience must not cut the cleaning up short.
    time.sleep(0.1)
    (os.killpg if to_group else os.kill)(process.pid, number)
    stdout, stderr = process.communicate(timeout=30)
    assert time.monotonic() - started < 8
    assert (process.returncode, stdout) == (code, "")
    assert stderr == f"\n{word}: nothing was left behind\n"
    assert list(temporary.iterdir()) == []
    assert _processes(temporary) == []


def test_the_users_environment_does_not_leak_in(run, project, tmp_path):
    home = tmp_path / "user-home"
    home.mkdir()
    place = project(
        "import os, pulumi, pulumi_aws as aws\n"
        "for key in ('AWS_PROFILE', 'AWS_REGION', 'KUBECONFIG', 'PULUMI_ACCESS_TOKEN', 'XDG_CONFIG_HOME'):\n"
        "    pulumi.export(key, os.environ.get(key, 'unset'))\n"
        "pulumi.export('home', os.environ['HOME'])\n"
        "pulumi.export('backend', os.environ['PULUMI_BACKEND_URL'])\n"
        f"p = {PROVIDER}\n"
        "pulumi.export('region', p.region)\n"
    )
    done = run(
        "preview",
        "--stack",
        "dev",
        "--project",
        str(place),
        AWS_PROFILE="personal",
        AWS_REGION="us-east-1",
        KUBECONFIG="/nonexistent",
        PULUMI_ACCESS_TOKEN="pul-x",  # noqa: S106 - not a credential
        PULUMI_BACKEND_URL="https://example.invalid",
        XDG_CONFIG_HOME=str(home),
        XDG_CACHE_HOME=str(cache.folder("x", "y").parents[3]),
        HOME=str(home),
    )
    assert (done.returncode, done.stderr) == (0, "")
    for key in ("AWS_PROFILE", "AWS_REGION", "KUBECONFIG", "PULUMI_ACCESS_TOKEN", "XDG_CONFIG_HOME"):
        assert f"  {key}: unset\n" in done.stdout
    assert "  region: eu-west-1\n" in done.stdout
    assert str(home) not in done.stdout
    assert "example.invalid" not in done.stdout
    assert list(home.iterdir()) == []


def test_two_rehearsals_at_once_do_not_disturb_each_other(project, temporary):
    place = project(f"import pulumi, pulumi_aws as aws\np = {PROVIDER}\npulumi.export('done', 1)\n")
    pulumi_cli.find()
    command = [sys.executable, "-m", "rehearsal", "preview", "--stack", "dev", "--project", str(place)]
    environment = {**os.environ, "TMPDIR": str(temporary)}
    both = [
        subprocess.Popen(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for _ in range(2)
    ]
    for process in both:
        stdout, stderr = process.communicate(timeout=60)
        assert (process.returncode, stderr) == (0, "")
        assert "  done: 1\n" in stdout
    assert list(temporary.iterdir()) == []


def test_a_rehearsal_goes_on_from_the_folder_that_was_named(run, project, tmp_path):
    place = project("import pulumi\npulumi.export('done', 1)\n")
    # a relative path is as good
    state = os.path.relpath(tmp_path / "state", ROOT)
    asked = ("--stack", "dev", "--project", str(place), "--state", state)
    done = run("up", *asked)
    assert (done.returncode, done.stderr) == (0, "")
    assert (tmp_path / "state" / "work" / "Pulumi.dev.yaml").is_file()
    again = run("preview", *asked)
    assert (again.returncode, again.stderr) == (0, "")
    assert "what `pulumi up` would change" in again.stdout
    assert "\nnothing; previewed in" in again.stdout


def test_a_rehearsal_s_folder_must_be_a_folder(run, project, tmp_path):
    place = project("import pulumi\n")
    (tmp_path / "file").write_text("")
    done = run("up", "--stack", "dev", "--project", str(place), "--state", str(tmp_path / "file"))
    assert done.returncode == 2
    assert done.stderr.endswith(f"error: argument --state: '{tmp_path / 'file'}' is no folder\n")
