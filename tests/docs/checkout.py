"""A copy of the checkout, as a repository of its own: what a page's command does there, it does not do here."""

import shutil
import subprocess
from pathlib import Path

from tests.harness import ROOT

RUN = """
set -euo pipefail
ops() { .venv/bin/python -m ops "$@"; }
"""


def made(target: Path) -> Path:
    """Make the copy, with `origin/main` where it stands, and return it."""
    listed = _git(ROOT, "ls-files", "-z", "--cached", "--others", "--exclude-standard").split("\0")
    for name in filter(None, listed):
        source = ROOT / name
        if source.is_file():  # one that is deleted and not yet committed is listed too
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source, target / name)
    (target / ".venv").symlink_to(ROOT / ".venv")
    _git(target, "init", "--quiet", "--initial-branch", "main")
    _git(target, "add", "--all")
    identity = ["-c", "user.name=x", "-c", "user.email=x@example.com"]
    _git(target, *identity, "commit", "--quiet", "--message", "as it is", "--no-verify", "--no-gpg-sign")
    _git(target, "update-ref", "refs/remotes/origin/main", "HEAD")
    return target


def changed(copy: Path) -> str:
    """Return what is not as it was, a line a file."""
    return _git(copy, "status", "--porcelain", "--untracked-files=all")


def run(copy: Path, text: str) -> subprocess.CompletedProcess[str]:
    """Run a block of commands in the copy, with no cloud to go to."""
    return subprocess.run(
        ["bash", "-c", RUN + text],
        cwd=copy,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )


def _git(folder: Path, *arguments: str) -> str:
    return subprocess.run(["git", *arguments], cwd=folder, check=True, capture_output=True, text=True).stdout
