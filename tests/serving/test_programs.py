"""What is mounted into a pod is what its program reaches: no module less, and none that nobody imports."""

import ast
import re
import subprocess
import sys
from pathlib import Path
from typing import get_args

import pytest

from serving.programs import SCRIPTS, Program, config_map_name, files

PROGRAMS = get_args(Program)
LIMIT = 900 * 1024
"""Bytes. etcd takes 1 MiB an object, with everything around the text."""


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_program_starts_from_its_files_alone(program: Program, tmp_path: Path) -> None:
    """In an empty folder, without site-packages: an import that is missing would be a traceback."""
    for name, text in files(program).items():
        (tmp_path / name).write_text(text)
    command = [sys.executable, "-S", "-B", tmp_path / f"{program}.py", "--nonsense"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env={})
    said = done.stdout + done.stderr
    assert "usage" in said, said
    assert "Traceback" not in said
    # a restore never stops its pod
    assert done.returncode == (0 if program == "restore" else 2)


@pytest.mark.parametrize("program", PROGRAMS)
def test_every_file_is_the_program_or_imported_by_another_one(program: Program) -> None:
    found = files(program)
    imported = {f"{name}.py" for text in found.values() for name in imports(text)}
    assert found.keys() == {f"{program}.py"} | (imported & files(*PROGRAMS).keys())


def imports(text: str) -> set[str]:
    return {
        name
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Import | ast.ImportFrom)
        for name in ([node.module] if isinstance(node, ast.ImportFrom) else [alias.name for alias in node.names])
        if name
    }


def test_nothing_is_imported_but_the_standard_library() -> None:
    """`certifi` alone is asked for, where the system has no certificates: the images have it, or do not need it."""
    ours = {name.removesuffix(".py") for name in files(*PROGRAMS)}
    others = {name.split(".")[0] for text in files(*PROGRAMS).values() for name in imports(text)}
    assert others - ours - sys.stdlib_module_names == {"certifi"}


def test_no_two_modules_share_a_name_and_none_hides_one_of_the_standard_library() -> None:
    names = [path.stem for path in SCRIPTS.rglob("*.py")]
    assert len(names) == len(set(names))
    assert not set(names) & sys.stdlib_module_names
    assert {f"{name}.py" for name in names} == files(*PROGRAMS).keys()


def test_a_restore_imports_nothing_slow() -> None:
    """It compiles what it reads on every start: a ConfigMap holds no bytecode."""
    slow = {"tarfile", "xml.etree", "xml.sax.saxutils", "subprocess", "concurrent.futures", "tempfile", "email.utils"}
    assert not {name for source in files("restore").values() for name in imports(source)} & slow


def test_all_programs_together_fit_into_one_object() -> None:
    assert sum(len(text.encode()) for text in files(*PROGRAMS).values()) < LIMIT


def test_a_config_map_is_named_after_its_content() -> None:
    names = {
        config_map_name("restore", content) for content in ({"a": "b"}, {"a": "c"}, {"ab": ""}, {"a": "b", "c": ""})
    }
    assert len(names) == 4
    assert all(re.fullmatch(r"restore-[0-9a-f]{10}", name) for name in names)
    assert config_map_name("x", {"a": "1", "b": "2"}) == config_map_name("x", {"b": "2", "a": "1"})
