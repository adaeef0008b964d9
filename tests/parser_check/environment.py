"""Where the real parsers live: in the user's tool cache, made once from the pins beside this file (6 GB, two minutes).

One virtual environment holds what all versions import, and each version of vLLM lies in a folder of its own, without
what it would install beside itself.
"""

import hashlib
import subprocess
import sys
from pathlib import Path

from rehearsal.toolchain import cache
from rehearsal.toolchain.progress import step
from rehearsal.toolchain.venv import UV

PINS = Path(__file__).with_name("pins")
STAND_ALONE = ("serving/arguments", "serving/cache_key/oracle")
"""Folders of the programs that run there."""
ROOT = Path(__file__).parents[2]


class ParserMissingError(Exception):
    """The packages cannot be had; the message says why."""


def python() -> Path:
    """Return the Python that has what vLLM imports."""
    pins = PINS / "common.txt"
    target = _target("parser-python", pins)

    def make(partial: Path) -> None:
        with step("making an environment for vLLM's parser (once: torch and its libraries are 5 GB)"):
            _uv("venv", "--quiet", "--relocatable", "--python", sys.executable, str(partial))
            _install(pins, "--python", str(partial / "bin" / "python"))

    return cache.cached(target, make) / "bin" / "python"


def engine(version: str) -> Path:
    """Return the folder that holds a version of vLLM."""
    pins = PINS / f"vllm-{version}.txt"

    def make(partial: Path) -> None:
        with step(f"installing vLLM {version} (once: 800 MB)"):
            _install(pins, "--python", str(python()), "--no-deps", "--target", str(partial))

    return cache.cached(_target("parser-vllm", pins), make)


def path(version: str) -> str:
    """Return the PYTHONPATH of a version and of the programs that look at it."""
    return ":".join(map(str, (engine(version), *(ROOT / folder for folder in STAND_ALONE))))


def _target(program: str, pins: Path) -> Path:
    version = ".".join(map(str, sys.version_info[:2]))
    digest = hashlib.sha256(UV.encode() + sys.base_prefix.encode() + pins.read_bytes()).hexdigest()[:16]
    return cache.folder(program, f"{pins.stem}-python{version}-{digest}") / "environment"


def _install(pins: Path, *where: str) -> None:
    _uv("pip", "install", "--quiet", "--require-hashes", *where, "--requirements", str(pins))


def _uv(*arguments: str) -> None:
    command = [str(Path(sys.executable).with_name("uv")), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise ParserMissingError(f"{' '.join(command)}\n{done.stderr.strip()}")
