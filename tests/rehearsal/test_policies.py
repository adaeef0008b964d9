"""The rehearsal runs a policy pack on the real engine: what it says, what stops a run, and nothing left behind."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from guardrails.pack import RULES
from rehearsal.engine.run import PoliciesViolatedError
from rehearsal.life import up
from rehearsal.preview import preview
from tests.harness import ROOT
from tests.rehearsal.test_stacks import SECRETS

PACK = ROOT / "policies"
OTHERS = ROOT / "tests/policies/engine/program"
STACKS = ("dev", "staging", "prod")


@pytest.mark.parametrize("stack", STACKS)
def test_no_stack_file_breaks_a_rule(stack):
    found = preview(stack, project=ROOT, secrets=SECRETS, policies=PACK).findings
    assert found is not None
    assert [it for it in found if it.level != "unchecked"] == []


@pytest.mark.parametrize("stack", STACKS)
def test_what_a_preview_cannot_see_is_checked_in_up(stack):
    found = up(stack, project=ROOT, secrets=SECRETS, policies=PACK).findings
    assert found == ()


def test_without_a_pack_nothing_is_said_of_policies():
    assert preview("good", project=OTHERS).findings is None


def test_a_violation_stops_a_preview_with_every_sentence():
    with pytest.raises(PoliciesViolatedError) as stopped:
        preview("pool-without-limits", project=OTHERS, policies=PACK)
    why = next(rule for rule in RULES if rule.id == "gpu-limit")
    assert str(stopped.value) == (
        "the policy pack refuses 1 thing:\n"
        "  gpu-limit: pool: spec.limits is missing; set nvidia.com/gpu (or what its nodes have) to the number that may"
        " run at once\n"
        f"    {why.says} {why.why} ({why.source})"
    )


def test_a_violation_stops_an_update_before_the_resource_is_made(tmp_path):
    with pytest.raises(PoliciesViolatedError):
        up("pool-without-limits", project=OTHERS, policies=PACK, state=tmp_path / "state")
    plan = preview("pool-without-limits", project=OTHERS, state=tmp_path / "state")
    assert plan.one("kubernetes:karpenter.sh/v1:NodePool").action == "create"


def ran(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "rehearsal", "preview", *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


def test_the_command_says_that_the_pack_was_run():
    done = ran("--stack", "dev", "--policies")
    assert (done.returncode, done.stderr) == (0, "")
    assert any(line.startswith("policies: no violation") for line in done.stdout.splitlines())


def test_what_stopped_a_preview_is_there_for_a_program_too(tmp_path):
    file = tmp_path / "plan.json"
    arguments = ("--stack", "pool-without-limits", "--project", str(OTHERS), "--policies", str(PACK))
    done = ran(*arguments, "--json", str(file))
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("the policy pack refuses 1 thing:\n  gpu-limit: pool: ")
    (found,) = json.loads(file.read_text())["findings"]
    assert (found["rule"], found["level"], found["urn"].rpartition("::")[2]) == ("gpu-limit", "mandatory", "pool")


def test_a_folder_without_a_pack_is_usage(tmp_path):
    done = ran("--stack", "dev", "--policies", str(tmp_path))
    said = f"--policies {tmp_path}: no policy pack, PulumiPolicy.yaml is missing\n"
    assert (done.returncode, done.stdout, done.stderr) == (2, "", said)


def test_a_pack_that_crashes_ends_the_preview_with_its_reason(tmp_path):
    (tmp_path / "PulumiPolicy.yaml").write_text("runtime: python\nversion: 0.1.0\n")
    (tmp_path / "__main__.py").write_text("raise ValueError('no such rule')\n")
    done = ran("--stack", "dev", "--policies", str(tmp_path))
    assert done.returncode == 1
    assert "no such rule" in done.stderr


def test_no_pack_outlives_its_run():
    # children of this process: another worker of the tests may run one now
    preview("good", project=OTHERS, policies=PACK)
    running = subprocess.run(
        ["pgrep", "-P", str(os.getpid()), "-f", "pulumi.policy"], capture_output=True, text=True, check=False
    )
    assert running.stdout == ""


def test_the_packs_folder_is_found_below_the_project():
    assert (Path(ROOT) / "policies" / "PulumiPolicy.yaml").is_file()
