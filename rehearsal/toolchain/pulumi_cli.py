"""The Pulumi CLI: from PATH, from the cache, downloaded, or built from source; in that order."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

from rehearsal.toolchain import cache, download, golang

_MODULE = Path(__file__).with_name("pulumi")
# Older CLIs lack parts of the protocol that the pinned SDK (3.272.0) and the providers speak.
_OLDEST = (3, 272, 0)


class ToolMissingError(Exception):
    """The program can be had in no way; the message says which ways there are."""


@dataclass(frozen=True, kw_only=True)
class Executable:
    """A program that can be run."""

    path: Path
    version: str
    """Without a leading `v`."""


def pinned_version(module: Path = _MODULE) -> str:
    """The CLI version that is downloaded or built: the one that `go.mod` pins."""
    text = (module / "go.mod").read_text(encoding="utf-8")
    found = re.search(r"^\s*github\.com/pulumi/pulumi/pkg/v3 v(\S+)", text, re.MULTILINE)
    if found is None:
        raise ValueError(f"{module / 'go.mod'} does not require github.com/pulumi/pulumi/pkg/v3")
    return found[1]


def find() -> Executable:
    """A CLI that fits. Raises ToolMissingError."""
    notes: list[str] = []
    installed = _on_path(notes)
    if installed is not None:
        return installed
    version = pinned_version()
    target = cache.folder("pulumi", version) / "pulumi"
    return Executable(
        path=cache.cached(target, lambda partial: _obtain(version, partial, notes)),
        version=version,
    )


def _obtain(version: str, target: Path, notes: list[str]) -> None:
    try:
        download.pulumi(version, target)
    except download.DownloadError as failure:
        notes.append(f"download: {failure}")
    else:
        return
    try:
        golang.build(
            title=f"building the Pulumi CLI {version} from source (once, 4 to 10 minutes)",
            module=_MODULE,
            package="github.com/pulumi/pulumi/pkg/v3/cmd/pulumi",
            # The CLI does not know its version otherwise, and the Automation API refuses it.
            ldflags=f"-s -w -X github.com/pulumi/pulumi/sdk/v3/go/common/version.Version=v{version}",
            target=target,
        )
    except golang.BuildError as failure:
        notes.append(f"go build: {failure}")
        tried = "\n".join(f"  - {note}" for note in notes)
        raise ToolMissingError(
            f"The Pulumi CLI is missing and could not be had:\n{tried}\n"
            f"Any one of these is enough: put pulumi >= {_dotted(_OLDEST)} on PATH, connect to the "
            f"internet, or install Go >= {golang.needed(_MODULE)} (with access to Go modules)."
        ) from failure


def _on_path(notes: list[str]) -> Executable | None:
    found = shutil.which("pulumi")
    if found is None:
        notes.append("PATH: no `pulumi`")
        return None
    with tempfile.TemporaryDirectory() as home:
        environment = {
            "PATH": os.environ.get("PATH", ""),
            "HOME": home,
            "PULUMI_SKIP_UPDATE_CHECK": "true",
        }
        try:
            output = subprocess.run(  # noqa: S603 - what the user's PATH says is pulumi
                [found, "version"],
                env=environment,
                capture_output=True,
                encoding="utf-8",
                errors="replace",
                timeout=20,
                check=True,
            ).stdout.strip()
        except (OSError, subprocess.SubprocessError) as failure:
            notes.append(f"PATH: {found} does not run ({failure})")
            return None
    version = re.fullmatch(r"v?((\d+)\.(\d+)\.(\d+)\S*)", output)
    if version is None:
        notes.append(f"PATH: {found} says {output!r} instead of a version")
        return None
    numbers = (int(version[2]), int(version[3]), int(version[4]))
    if numbers < _OLDEST or numbers[0] != _OLDEST[0]:
        notes.append(f"PATH: {found} is {version[1]}, wanted >= {_dotted(_OLDEST)} and < {_OLDEST[0] + 1}")
        return None
    return Executable(path=Path(found), version=version[1])


def _dotted(numbers: tuple[int, int, int]) -> str:
    return ".".join(map(str, numbers))
