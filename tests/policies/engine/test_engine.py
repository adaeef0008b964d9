"""The pack on the real engine: over broken stack files of another team each fires what it is meant to, and no more."""

import json
import re
import shutil
from pathlib import Path

import pytest

from rehearsal.engine.run import PoliciesViolatedError
from rehearsal.preview import preview
from tests.harness import ROOT

PROGRAM = Path(__file__).with_name("program")
CASES = sorted(path.name.split(".")[1] for path in PROGRAM.glob("Pulumi.*.yaml"))
PACK = ROOT / "policies"


def said(case: str, key: str) -> str:
    found = re.search(rf"^# {key}: (.*)$", (PROGRAM / f"Pulumi.{case}.yaml").read_text(), re.MULTILINE)
    return found[1] if found else ""


def fired(case: str, pack: Path) -> set[str]:
    try:
        findings = preview(case, project=PROGRAM, policies=pack).findings
    except PoliciesViolatedError as stopped:
        findings = stopped.findings
    return {it.rule for it in findings or () if it.level != "unchecked"}


@pytest.fixture
def pack(tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    """The pack, configured by the stack file of the case."""
    place = tmp_path / "policies"
    shutil.copytree(PACK, place, ignore=shutil.ignore_patterns("__pycache__", "config.json"))
    if config := said(request.node.callspec.params["case"], "config"):
        (place / "config.json").write_text(json.dumps(json.loads(config)))
    return place


@pytest.mark.parametrize("case", CASES)
def test_each_broken_stack_file_fires_its_rules_alone(case: str, pack: Path) -> None:
    expected = {it for it in said(case, "fires").split(", ") if it != "nothing"}
    assert fired(case, pack) == expected


def test_there_are_enough_of_them():
    broken = [case for case in CASES if said(case, "fires") != "nothing"]
    assert len(broken) >= 25
