"""The command over two commits, of which each runs its own program; and over one that changes nothing."""

from __future__ import annotations

from pathlib import Path

from tests.harness import SECRETS
from tests.ops.impact.conftest import committed, git, replace


def test_a_program_that_changes_restarts_what_it_makes_and_the_stack_file_need_not(impact, repository):
    """Two commits of a stack that needs a secret; the program of each is its own."""
    base = committed_as(repository, "base")
    replace(repository, "serving/engine.py", "PORT = 8000", "PORT = 8080")
    head = committed_as(repository, "head")
    git(repository, "checkout", "--quiet", "base")
    secret = "=".join(SECRETS[0])
    code, out, err = impact("--base", "base", "--head", "head", "--stack", "prod", "--secret", secret)
    git(repository, "checkout", "--quiet", "main")
    assert code == 0, err
    assert f"From `base ({base[:8]})` to `head ({head[:8]})`: " in out
    assert "pods restart" in out
    assert "8080" in out
    assert "accessToken" not in out + err


def committed_as(repository: Path, branch: str) -> str:
    git(repository, "checkout", "--quiet", "-B", branch)
    (repository / "note").write_text(branch)
    return committed(repository)


def test_nothing_changes_when_nothing_was_changed(impact):
    code, out, _ = impact("--base", "HEAD", "--fail-on", "replacements", "--fail-on", "usd-per-hour=+0")
    assert code == 0
    assert ": nothing changes (" in out
    assert "untouched; cache and pods stay" in out
