"""Git repositories with this program in them."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from typer.testing import CliRunner

from ops.cli import app
from tests.harness import ROOT

PROGRAM = ("infra", "serving", "ops", "rehearsal", "settings.py", "checks.py", "outputs.py", "__main__.py")
FILES = ("Pulumi.yaml", "Pulumi.dev.yaml", "Pulumi.prod.yaml", "requirements.in")


def git(folder: Path, *arguments: str) -> str:
    who = ("-c", "user.name=x", "-c", "user.email=x@example.com", "-c", "commit.gpgsign=false", "-c", "gc.auto=0")
    done = subprocess.run(["git", *who, *arguments], cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def committed(folder: Path) -> str:
    """Commit everything, and return the commit."""
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "--message", "x")
    return git(folder, "rev-parse", "HEAD")


def edit(folder: Path, change: Callable[[dict[str, Any]], object], stack: str = "dev") -> None:
    """Change a stack file's settings in place."""
    path = folder / f"Pulumi.{stack}.yaml"
    whole = yaml.safe_load(path.read_text())
    change(whole["config"]["vllm-eks:settings"])
    path.write_text(yaml.safe_dump(whole, sort_keys=False))


def replace(folder: Path, file: str, before: str, after: str) -> None:
    """Change a file of the program, in the one place that has this text."""
    path = folder / file
    text = path.read_text()
    assert text.count(before) == 1
    path.write_text(text.replace(before, after))


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The program as it stands here, in a repository of its own, committed."""
    folder = tmp_path_factory.mktemp("repository") / "checkout"
    folder.mkdir()
    for name in PROGRAM + FILES:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(ROOT / name, folder)
    (folder / ".gitignore").write_text("__pycache__/\n")
    git(folder, "init", "--quiet", "--initial-branch", "main")
    committed(folder)
    return folder


def run(*arguments: str) -> tuple[int, str, str]:
    """Exit code, standard output and standard error of `ops impact` in the current folder."""
    done = CliRunner().invoke(app, ["impact", *arguments])
    if done.exception and not isinstance(done.exception, SystemExit):
        raise done.exception
    return done.exit_code, done.stdout, done.stderr


@pytest.fixture
def impact(repository: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., tuple[int, str, str]]:
    """`impact("--base", ...)` in the repository."""
    monkeypatch.chdir(repository)
    return run


@pytest.fixture
def small(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository with one file, as the current folder."""
    folder = tmp_path / "small"
    folder.mkdir()
    (folder / "Pulumi.dev.yaml").write_text("config: {}\n")
    git(folder, "init", "--quiet", "--initial-branch", "main")
    committed(folder)
    monkeypatch.chdir(folder)
    return folder
