"""What every command has in common: it starts at once, and ends with a code and a line."""

import io
import subprocess
import sys

import pytest

from ops import failures, streams
from ops.aws import SIGN_IN
from ops.programs import BUILD_EXIT
from serving import jobs
from tests.harness import ROOT

HEAVY = ("pulumi", "boto3", "botocore", "kubernetes", "yaml", "settings", "infra", "serving")
REVIEW = ("answers", "body", "candidates", "drift", "number", "post", "preview", "rehearse", "verdict")
COMMANDS = (
    ("bucket", "policy"),
    ("cache", "key"),
    ("cache", "build"),
    ("cache", "verify"),
    ("cache", "ls"),
    ("cache", "prune"),
    ("coldstart", "parse"),
    ("coldstart", "refit"),
    ("coldstart", "report"),
    ("coldstart", "run"),
    ("diagram",),
    ("idle", "plan"),
    ("idle", "status"),
    ("impact",),
    ("preflight",),
    *(("review", it) for it in REVIEW),
    ("rights", "deployer"),
    ("rights", "preview"),
    ("sleep",),
    ("status",),
    ("try",),
    ("wake",),
    ("weights", "onboard"),
    ("weights", "verify"),
)


def ran(*arguments, **environment):
    command = [sys.executable, *arguments]
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("command", [(), *COMMANDS], ids=" ".join)
def test_help_needs_none_of_the_sdks(command):
    script = (
        "import sys\nfrom ops.cli import app\n"
        f"try:\n    app([*{command!r}, '--help'])\nexcept SystemExit as end:\n    assert not end.code\n"
        f"print('loaded:', *sorted({set(HEAVY)!r} & sys.modules.keys()))"
    )
    done = ran("-c", script)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("Usage: ")
    assert done.stdout.splitlines()[-1] == "loaded:"


@pytest.mark.parametrize("group", ["bucket", "cache", "idle", "review", "rights", "weights"])
def test_a_command_is_summed_up_in_a_line_that_is_whole(ops, group):
    """Typer cuts what is longer."""
    listed = ops(group, "--help")[1].partition("Commands:\n")[2].splitlines()
    assert len(listed) == sum(it[0] == group for it in COMMANDS)
    assert [line for line in listed if not line.endswith(".") or line.endswith("...")] == []


def test_so_is_what_belongs_to_no_group(ops):
    listed = {line.split()[0]: line for line in ops("--help")[1].partition("Commands:\n")[2].splitlines()}
    alone = [it[0] for it in COMMANDS if len(it) == 1]
    assert listed.keys() >= set(alone)
    assert [listed[it] for it in alone if not listed[it].endswith(".") or listed[it].endswith("...")] == []


@pytest.mark.parametrize("arguments", [("--help",), ("cache", "--help"), ("cache", "key", "--server", "gemma")])
def test_a_full_disk_is_one_line(arguments):
    with open("/dev/full", "w") as full:  # noqa: PTH123
        command = [sys.executable, "-m", "ops", *arguments]
        done = subprocess.run(command, cwd=ROOT, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert (done.returncode, done.stderr) == (3, "cannot write: No space left on device\n")


@pytest.mark.parametrize(
    ("redirection", "arguments", "code"),
    [
        ("2>&-", "cache key --server x", 2),
        ("2>/dev/full", "cache key --server x", 2),
        ("2>&-", "idle status --kubeconfig /dev/null", 2),
        ("<&-", "cache verify --server gemma --log -", 3),
        (">&-", "cache key --server gemma", 0),
    ],
)
def test_a_stream_that_is_closed_or_full_changes_no_exit_code(redirection, arguments, code):
    """Without a stream to write to Python raises what is no OSError, and ends with 1: a check failed."""
    command = f"exec {sys.executable} -m ops {arguments} {redirection}"
    done = subprocess.run(["/bin/sh", "-c", command], cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, "Traceback" in done.stderr) == (code, False)


def test_signs_that_the_locale_lacks_are_written_as_ascii(monkeypatch):
    written = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    monkeypatch.setattr(sys, "stdout", written)
    monkeypatch.setattr(sys, "stderr", sys.stderr)
    streams.fit()
    written.write("\u2019")
    written.flush()
    assert written.buffer.getvalue().endswith(b"\\u2019")


def test_the_module_is_the_program():
    done = ran("-m", "ops", "--help")
    assert done.stdout.startswith("Usage: .venv/bin/python -m ops [OPTIONS] COMMAND [ARGS]...\n")


ONBOARD = ("weights", "onboard", "--server", "gemma", "--repository", "a/b", "--revision", "0" * 40)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("cache", "key"), "Error: Missing option '--server'.\n"),
        (("cache", "frobnicate"), "Error: No such command 'frobnicate'.\n"),
        (("cache", "key", "--server", "x"), "--server x: not in Pulumi.dev.yaml; expected one of gemma\n"),
        (("cache", "key", "--server", "a\nb"), "--server a\\nb: not in Pulumi.dev.yaml; expected one of gemma\n"),
        (("cache", "key", "--server", ""), "--server '': not in Pulumi.dev.yaml; expected one of gemma\n"),
        (("cache", "key", "--server", "gemma", "--diff", ""), "Error: Invalid value for '--diff': empty\n"),
        (("cache", "verify", "--server", "gemma", "--log", ""), "Error: Invalid value for '--log': empty\n"),
        (("cache", "verify", "--server", "gemma", "--pod", ""), "Error: Invalid value for '--pod': empty\n"),
        ((*ONBOARD, "--include", "*.json", "--include", ""), "Error: Invalid value for '--include': empty\n"),
        ((*ONBOARD, "--exclude", ""), "Error: Invalid value for '--exclude': empty\n"),
        (
            ("cache", "key", "--server", "gemma", "--stack", "qa"),
            "--stack qa: Pulumi.qa.yaml is not here; expected dev, prod, staging\n",
        ),
        (
            ("cache", "verify", "--server", "gemma", "--pod", "x", "--log", "-"),
            "--pod and --log: one log at a time\n",
        ),
        (("cache", "verify", "--server", "gemma", "--log", "nowhere"), "--log nowhere: No such file or directory\n"),
    ],
    ids=[
        *("option", "command", "server", "a line break", "no server", "no revision", "empty log", "empty pod"),
        *("empty include", "empty exclude"),
        *("stack", "two logs", "no log"),
    ],
)
def test_usage_is_2(ops, arguments, said):
    code, out, err = ops(*arguments)
    assert (code, out) == (2, "")
    assert err.endswith(said)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("cache", "ls"), f"bucket vllm-eks-dev-models-000000000000: Unable to locate credentials; {SIGN_IN}\n"),
        (("cache", "prune"), f"bucket vllm-eks-dev-models-000000000000: Unable to locate credentials; {SIGN_IN}\n"),
        (
            ("cache", "build", "--server", "gemma"),
            f"cluster inference-dev in us-west-2: Unable to locate credentials; {SIGN_IN}\n",
        ),
        (
            ("weights", "verify", "--server", "gemma"),
            f"cluster inference-dev in us-west-2: Unable to locate credentials; {SIGN_IN}\n",
        ),
    ],
    ids=["ls", "prune", "build", "verify"],
)
def test_without_credentials_nothing_can_be_told_which_is_3(ops, arguments, said):
    assert ops(*arguments) == (3, "", said)


def test_failures_have_the_exit_codes_of_the_programs_in_the_pods():
    """`ops` reads theirs by its own: two lists, because `--help` imports no SDK."""
    assert (failures.FAILED_CHECK, failures.USAGE) == (jobs.FAILED_CHECK, jobs.USAGE)
    assert {BUILD_EXIT["published"], BUILD_EXIT["unclear"]} == {failures.OK, failures.UNCLEAR}


def test_a_wrong_stack_file_gives_the_lines_of_the_program_and_1(ops, edit):
    def spoil(settings):
        settings["servers"]["gemma"]["pool"] = "nowhere"
        settings["network"]["cidr"] = "10.0.0.0/24"

    edit(spoil)
    code, out, err = ops("cache", "ls")
    assert (code, out) == (1, "")
    assert err.splitlines()[0] == "Pulumi.dev.yaml: the stack file has 2 mistakes:"
    assert [line.split(":")[0] for line in err.splitlines()[1:]] == ["  network.cidr", "  servers.gemma.pool"]
