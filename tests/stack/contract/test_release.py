"""The files that are kept, and when a change needs which version."""

import copy
import json
import os
import re
import shutil
import subprocess
import sys
from itertools import pairwise
from pathlib import Path
from typing import Any

import jsonschema
import pytest

import outputs
from contract import release, table
from contract.compatibility import incompatible
from contract.release import COMMAND, current, problems, released
from tests.harness import ROOT, Recording

NOW = release.version(outputs.VERSION)


def test_schema_and_table_are_what_the_program_declares() -> None:
    assert problems(current(), NOW, released()) == []
    committed = (release.FOLDER / f"{outputs.VERSION}.json").read_text()
    assert committed == release.text(current()), f"run {COMMAND}"
    page = table.FILE.read_text()
    assert page == table.document(page, released()), f"run {COMMAND}"
    assert page.count(table.BEGIN) == page.count(table.END) == 1


def test_releases_of_one_number_understand_each_other() -> None:
    schemas = released()
    assert list(schemas)[:2] == [(1, 0), (1, 1)]
    for (before, old), (after, new) in pairwise(schemas.items()):
        if before[0] == after[0]:
            assert incompatible(old, new) == []


def test_what_the_program_exports_is_of_every_schema_of_its_number(recording: Recording) -> None:
    for number, schema in released().items():
        if number[0] == NOW[0]:
            jsonschema.Draft202012Validator.check_schema(schema)
            jsonschema.validate(recording.outputs, schema)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({**recording.outputs, "region": 7}, released()[1, 0])


def without(name: str) -> dict[str, Any]:
    schema = copy.deepcopy(dict(current()))
    del schema["properties"][name]
    return schema


def with_one_more() -> dict[str, Any]:
    schema = copy.deepcopy(dict(current()))
    schema["properties"]["added"] = {"type": "string", "default": "x"}
    return schema


KEPT = {(1, 0): released()[1, 0], (1, 1): current()}


@pytest.mark.parametrize(
    ("now", "named", "said"),
    [
        (current(), (1, 1), []),
        (with_one_more(), (1, 1), ["outputs are not those of 1.1; make VERSION 1.2 in outputs.py"]),
        (with_one_more(), (1, 2), []),
        (with_one_more(), (2, 0), []),
        (
            without("namespace"),
            (1, 1),
            ["outputs are not those of 1.1; make VERSION 2.0 in outputs.py", "namespace: is gone"],
        ),
        (
            without("namespace"),
            (1, 2),
            ["VERSION 1.2 breaks readers of 1.1; expected 2.0", "namespace: is gone"],
        ),
        (without("namespace"), (2, 0), []),
        (with_one_more(), (1, 3), ["VERSION 1.3; expected 1.2 or 2.0"]),
        (with_one_more(), (2, 1), ["VERSION 2.1; expected 1.2 or 2.0"]),
        (with_one_more(), (0, 9), ["VERSION 0.9; expected 1.2 or 2.0"]),
        # a schema that was released is never written again, not even with more in it
        (with_one_more(), (1, 0), ["outputs are not those of 1.0; make VERSION 1.1 in outputs.py"]),
    ],
)
def test_a_change_needs_its_version(now: dict[str, Any], named: tuple[int, int], said: list[str]) -> None:
    assert problems(now, named, KEPT) == said


def test_the_first_release_is_1_0() -> None:
    assert problems(current(), (1, 0), {}) == []
    assert problems(current(), (1, 1), {}) == ["VERSION 1.1; expected 1.0"]


@pytest.mark.parametrize("text", ["1", "1.0.0", "v1.0", "1.x", ""])
def test_a_version_is_two_numbers(text: str) -> None:
    with pytest.raises(ValueError, match=rf"^{re.escape(text)}: expected a version such as 1\.0$"):
        release.version(text)


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """What the command needs, to be changed at will."""
    shutil.copytree(ROOT / "contract", tmp_path / "contract", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "outputs.py", tmp_path)
    (tmp_path / "docs").mkdir()
    shutil.copy(table.FILE, tmp_path / "docs")
    return tmp_path


def run(folder: Path) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(folder)}
    command = [sys.executable, "-m", "contract"]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


def edit(folder: Path, *changes: tuple[str, str]) -> None:
    text = (folder / "outputs.py").read_text()
    for old, new in changes:
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    (folder / "outputs.py").write_text(text)


ADDED = ("    servers: Mapping[str, Server]\n", "    servers: Mapping[str, Server]\n    added: str | None = None\n")


def test_the_command_writes_what_is_new_and_only_that(checkout: Path) -> None:
    done = run(checkout)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    edit(checkout, ADDED, ('VERSION = "1.1"', 'VERSION = "1.2"'))
    done = run(checkout)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "written: contract/released/1.2.json\nwritten: docs/application-teams.md\n"
    assert "added" in json.loads((checkout / "contract/released/1.2.json").read_text())["properties"]
    assert "| `added` | 1.2 | yes |" in (checkout / "docs/application-teams.md").read_text()


def test_the_command_refuses_to_write_over_a_release(checkout: Path) -> None:
    before = (checkout / "contract/released/1.1.json").read_text()
    edit(checkout, ADDED, ("    cluster_name: str\n", "    cluster_name: int\n"))
    done = run(checkout)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == (
        "outputs are not those of 1.1; make VERSION 2.0 in outputs.py\n  clusterName: was string, is integer\n"
    )
    assert (checkout / "contract/released/1.1.json").read_text() == before


def test_another_wording_needs_no_version(checkout: Path) -> None:
    edit(checkout, ('"""Of the EKS cluster."""', '"""Its name in EKS."""'))
    done = run(checkout)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "written: contract/released/1.1.json\nwritten: docs/application-teams.md\n"
