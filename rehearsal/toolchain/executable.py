"""A program that the rehearsal runs: from PATH when its version fits, else from the cache, else made once."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from rehearsal.toolchain import cache, download, golang


class ToolMissingError(Exception):
    """The program can be had in no way, or is damaged; the message says what to do."""


@dataclass(frozen=True, kw_only=True)
class Executable:
    """A program that can be run."""

    path: Path
    version: str
    """Without a leading `v`."""


@dataclass(frozen=True, kw_only=True)
class Program:
    """What is known of a program before it is found."""

    name: str
    """The file on PATH and in the cache."""
    title: str
    """For messages, inside a sentence: `the Pulumi CLI`."""
    version: str
    """The one that is downloaded or built."""
    asks: str
    """The arguments that make it print its version."""
    says: str
    """What stands before the version in that output."""
    oldest: tuple[int, int, int]
    """The oldest version on PATH that will do."""
    below: tuple[int, ...]
    """The version from which on none will do."""
    module: Path
    """The folder of the go.mod that pins it."""
    package: str
    """Its main package."""
    ldflags: str
    minutes: str
    """How long a build takes, for example `4 to 10`."""

    @property
    def wanted(self) -> str:
        """The versions that will do, in words."""
        return f">= {_dotted(self.oldest)} and < {_dotted(self.below)}"


def required_version(module: Path, path: str) -> str:
    """The version (without `v`) at which the go.mod in the folder `module` requires the Go module `path`."""
    text = (module / "go.mod").read_text(encoding="utf-8")
    found = re.search(rf"^\s*(?:require )?{re.escape(path)} v(\S+)", text, re.MULTILINE)
    if found is None:
        raise ValueError(f"{module / 'go.mod'} does not require {path}")
    return found[1]


def find(program: Program, fetch: Callable[[str, Path], None] | None = None) -> Executable:
    """A program that fits. Raises ToolMissingError.

    `fetch(version, target)` gets the official download, or raises DownloadError; None: there is none to trust.
    """
    notes: list[str] = []
    installed = _on_path(program, notes)
    if installed is not None:
        return installed
    target = cache.folder(program.name, program.version) / program.name
    return Executable(
        path=cache.cached(target, lambda partial: _obtain(program, fetch, partial, notes)),
        version=program.version,
    )


def sound(program: Program, found: Executable) -> Executable:
    """`found`, if it really runs: a disk that filled up, or a home of another machine, leaves what does not.

    Raises ToolMissingError, which names the file. For programs that answer in a moment.
    """
    try:
        version = _version(program, found.path)
    except _UnusableError as failure:
        raise ToolMissingError(f"{failure}: delete this file and run again") from failure
    return Executable(path=found.path, version=version)


class _UnusableError(Exception):
    """The file is not the program."""


def _obtain(program: Program, fetch: Callable[[str, Path], None] | None, target: Path, notes: list[str]) -> None:
    if fetch is not None:
        try:
            fetch(program.version, target)
        except download.DownloadError as failure:
            notes.append(f"download: {failure}")
        else:
            return
    try:
        golang.build(
            title=f"building {program.title} {program.version} from source (once, {program.minutes} minutes)",
            module=program.module,
            package=program.package,
            ldflags=program.ldflags,
            target=target,
        )
    except golang.BuildError as failure:
        notes.append(f"go build: {failure}")
        tried = "\n".join(f"  - {note}" for note in notes)
        online = "" if fetch is None else "connect to the internet, "
        raise ToolMissingError(
            f"{re.sub('^the', 'The', program.title)} is missing and could not be had:\n{tried}\n"
            f"Any one of these is enough: put {program.name} {program.wanted} on PATH, {online}"
            f"or install Go >= {golang.needed(program.module)} (with access to Go modules)."
        ) from failure


def _on_path(program: Program, notes: list[str]) -> Executable | None:
    found = shutil.which(program.name)
    if found is None:
        notes.append(f"PATH: no `{program.name}`")
        return None
    try:
        version = _version(program, Path(found))
    except _UnusableError as failure:
        notes.append(f"PATH: {failure}")
        return None
    numbers = tuple(int(number) for number in re.findall(r"\d+", version)[:3])
    if not program.oldest <= numbers < program.below:
        notes.append(f"PATH: {found} is {version}, wanted {program.wanted}")
        return None
    return Executable(path=Path(found), version=version)


def _version(program: Program, path: Path) -> str:
    with tempfile.TemporaryDirectory() as home:
        # Not the user's environment: ETCD_* and PULUMI_* variables change what these programs do.
        environment = {
            "PATH": os.environ.get("PATH", ""),
            "HOME": home,
            "PULUMI_SKIP_UPDATE_CHECK": "true",
        }
        try:
            output = subprocess.run(  # noqa: S603 - what PATH or our cache says is the program
                [str(path), *program.asks.split()],
                env=environment,
                capture_output=True,
                encoding="utf-8",
                errors="replace",
                timeout=20,
                check=True,
            ).stdout.strip()
        except (OSError, subprocess.SubprocessError) as failure:
            raise _UnusableError(f"{path} does not run ({failure})") from failure
    version = re.match(rf"{re.escape(program.says)}v?(\d+\.\d+\.\d+\S*)(?: .*)?$", output, re.MULTILINE)
    if version is None:
        raise _UnusableError(f"{path} says {output[:200]!r} instead of a version")
    return version[1]


def _dotted(numbers: tuple[int, ...]) -> str:
    return ".".join(map(str, numbers))
