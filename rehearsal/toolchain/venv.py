"""Prepares `.venv` with the pinned requirements: `python3 -m rehearsal.toolchain.venv [--dev]`.

Runs with the standard library alone, before anything is installed. pip takes minutes for the
Pulumi SDKs because it compiles every file, so pip only fetches uv, and uv installs the rest in
seconds. A stamp with the hash of the requirements is written last: an interrupted installation
is done again, an unchanged one is skipped.
"""

from __future__ import annotations

import argparse
import hashlib
import shutil
import subprocess
import sys
from pathlib import Path

from rehearsal.toolchain.progress import step

UV = "uv==0.13.9"
_STAMP = "installed"


class PrepareError(Exception):
    """`.venv` cannot be made; the message says what to do."""


def is_current(venv: Path, requirements: Path) -> bool:
    """Whether the last complete installation into `venv` was of these very requirements."""
    stamp = venv / _STAMP
    return stamp.is_file() and stamp.read_text(encoding="utf-8") == _fingerprint(requirements)


def prepare(venv: Path, requirements: Path) -> None:
    """Make `venv` hold `requirements` at their pins, beside what it holds already. Raises PrepareError."""
    if is_current(venv, requirements):
        return
    stamp = venv / _STAMP
    stamp.unlink(missing_ok=True)
    python = venv / "bin" / "python"
    if not _works(python):
        _create(venv)
    with step("installing uv"):
        _run([str(python), "-m", "pip", "install", "--quiet", UV], "pip could not install uv")
    with step(f"installing {requirements.name}"):
        _run(
            [
                str(venv / "bin" / "uv"),
                "pip",
                "install",
                "--quiet",
                "--require-hashes",
                "--python",
                str(python),
                "--requirements",
                str(requirements),
            ],
            f"uv could not install {requirements.name}",
        )
    stamp.write_text(_fingerprint(requirements), encoding="utf-8")


def _fingerprint(requirements: Path) -> str:
    return hashlib.sha256(UV.encode() + requirements.read_bytes()).hexdigest()


def _works(python: Path) -> bool:
    """False also for a half-made environment, and for one whose Python has been removed."""
    if not python.exists():
        return False
    probe = [str(python), "-c", "import pip, sys; sys.exit(sys.version_info < (3, 11))"]
    return subprocess.run(probe, capture_output=True, check=False).returncode == 0  # noqa: S603 - own venv


def _create(venv: Path) -> None:
    shutil.rmtree(venv, ignore_errors=True)
    with step(f"creating {venv}"):
        made = subprocess.run(  # noqa: S603 - the running Python
            [sys.executable, "-m", "venv", str(venv)], capture_output=True, text=True, check=False
        )
    if made.returncode != 0:
        shutil.rmtree(venv, ignore_errors=True)
        said = (made.stderr or made.stdout).strip().splitlines()
        raise PrepareError(
            f"{sys.executable} cannot create a virtual environment"
            f"{f' ({said[-1]})' if said else ''}: on Debian and Ubuntu run "
            "`sudo apt-get install python3-venv`, elsewhere use a Python that has ensurepip "
            "(make PYTHON=/path/to/python3)"
        )


def _run(command: list[str], problem: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603 - built above
    if done.returncode != 0:
        lines = (done.stderr or done.stdout).strip()
        raise PrepareError(f"{problem} (is the package index reachable?):\n{lines}")


def _main() -> int:
    parser = argparse.ArgumentParser(prog="python3 -m rehearsal.toolchain.venv")
    parser.add_argument("--dev", action="store_true", help="with what tests and checks need")
    asked = parser.parse_args()
    root = Path(__file__).parents[2]
    try:
        # The development lock holds the program's packages too.
        if not asked.dev and is_current(root / ".venv", root / "requirements-dev.txt"):
            return 0
        prepare(root / ".venv", root / f"requirements{'-dev' if asked.dev else ''}.txt")
    except PrepareError as failure:
        sys.stderr.write(f"{failure}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(_main())
