"""One mutant in a worker's own copy of the project."""

import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from rehearsal.engine.run import RunFailedError
from rehearsal.preview import preview

ROOT = Path(__file__).parents[2]
NOT_COPIED = shutil.ignore_patterns(".venv", ".git", "__pycache__", ".*_cache", ".hypothesis", "passed.txt")
PREVIEWED = {"infra", "serving", "__main__.py", "settings.py", "checks.py", "outputs.py"}
"""What the program is made of: no preview notices a break of anything else."""

LIMIT = 30
"""Seconds that the tests of one mutant may take; 15 on a quiet machine."""


@dataclass(frozen=True)
class Mutant:
    name: str
    file: str
    line: str
    becomes: str
    tests: tuple[str, ...]


@dataclass(frozen=True)
class Outcome:
    mutant: str
    caught_by: str
    """Node id of the first test that failed; empty when none did."""
    trouble: str
    """Why the mutant says nothing: its line is not there, or its preview fails."""
    preview_seconds: float
    test_seconds: float


_bench: Path


def prepare(folder: str) -> None:
    """Give a worker its own copy of the project. The tests find `../shared` beside it, as in the checkout."""
    global _bench  # noqa: PLW0603 - the state of one worker process
    place = Path(tempfile.mkdtemp(dir=folder))
    _bench = place / "project"
    shutil.copytree(ROOT, _bench, ignore=NOT_COPIED, symlinks=True)
    if (ROOT.parent / "shared").exists():
        (place / "shared").symlink_to(ROOT.parent / "shared")
    preview("dev", project=_bench)  # the SDKs are loaded once, outside every measurement


def judged(mutant: Mutant) -> Outcome:
    path = _bench / mutant.file
    right = path.read_text()
    if right.count(mutant.line) != 1:
        return Outcome(mutant.name, "", f"its line is {right.count(mutant.line)} times in {mutant.file}", 0, 0)
    path.write_text(right.replace(mutant.line, mutant.becomes))
    try:
        return _judge(mutant)
    finally:
        path.write_text(right)


def _judge(mutant: Mutant) -> Outcome:
    started = time.monotonic()
    try:
        if Path(mutant.file).parts[0] in PREVIEWED:
            preview("dev", project=_bench)
    except RunFailedError as refusal:
        return Outcome(mutant.name, "", f"its preview fails: {str(refusal).splitlines()[-1]}", 0, 0)
    previewed = time.monotonic()
    try:
        done = _tests(mutant.tests)
    except subprocess.TimeoutExpired:
        return Outcome(mutant.name, "", f"its tests took over {LIMIT} s", previewed - started, LIMIT)
    failed = re.search(r"^(?:FAILED|ERROR) (\S+)", done.stdout, re.MULTILINE)
    if done.returncode not in (0, 1) or (done.returncode == 1 and failed is None):
        said = (done.stderr or done.stdout).strip().splitlines() or ["nothing"]
        return Outcome(mutant.name, "", f"pytest ended with {done.returncode}: {said[-1]}", 0, 0)
    return Outcome(mutant.name, failed[1] if failed else "", "", previewed - started, time.monotonic() - previewed)


def green(tests: tuple[str, ...]) -> bool:
    """Whether the tests pass where the mutants were, with nothing broken: else they would catch anything."""
    done = _tests(("--numprocesses", "2", "--dist", "worksteal", *tests), limit=LIMIT * 30)
    sys.stdout.write("" if done.returncode == 0 else done.stdout)
    return done.returncode == 0


def _tests(tests: tuple[str, ...], limit: float = LIMIT) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-x", "-q", "-rfE", "--no-header", "-p", "no:cacheprovider", *tests],
        cwd=_bench,
        env={**os.environ, "PYTHONPATH": str(_bench), "CI": "true"},
        capture_output=True,
        text=True,
        timeout=limit,
        check=False,
    )
