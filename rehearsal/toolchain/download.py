"""The official download of the Pulumi CLI.

Not proven: the hosts below cannot be reached from where this was written, so this path has only
run against a stand-in server in the tests. No checksum is pinned for the same reason; the archive
(from one host) is checked against the checksum file that the release publishes on another host.
"""

from __future__ import annotations

import hashlib
import platform
import ssl
import tarfile
import urllib.error
import urllib.request
from pathlib import Path

from rehearsal.toolchain.progress import Step, step

_ARCHIVES = "https://get.pulumi.com/releases/sdk"
_CHECKSUMS = "https://github.com/pulumi/pulumi/releases/download"
_CONNECT_SECONDS = 4.0
_CHUNK = 1024 * 1024
_SYSTEMS = {"Linux": "linux", "Darwin": "darwin"}
_MACHINES = {"x86_64": "x64", "amd64": "x64", "arm64": "arm64", "aarch64": "arm64"}


class DownloadError(Exception):
    """The download did not work out; the message is one line."""


def pulumi(version: str, target: Path, *, archives: str = _ARCHIVES, checksums: str = _CHECKSUMS) -> None:
    """Write the CLI binary of a release to `target`. Raises DownloadError."""
    name = f"pulumi-v{version}-{_platform()}.tar.gz"
    with step(f"downloading the Pulumi CLI {version}") as running:
        listed = _read(f"{checksums}/v{version}/pulumi-{version}-checksums.txt").decode()
        wanted = _checksum(listed, name)
        archive = target.with_suffix(".tar.gz")
        try:
            actual = _fetch(f"{archives}/{name}", archive, running)
            if actual != wanted:
                raise DownloadError(f"{name} has sha256 {actual}, the release says {wanted}")
            _extract(archive, target)
        finally:
            archive.unlink(missing_ok=True)


def _platform() -> str:
    system, machine = platform.system(), platform.machine()
    try:
        return f"{_SYSTEMS[system]}-{_MACHINES[machine]}"
    except KeyError:
        raise DownloadError(f"no release for {system} on {machine}") from None


def _checksum(listed: str, name: str) -> str:
    for line in listed.splitlines():
        checksum, _, file = line.strip().partition(" ")
        if file.strip().lstrip("*") == name:
            return checksum
    raise DownloadError(f"the release lists no checksum for {name}")


def _read(url: str) -> bytes:
    try:
        with urllib.request.urlopen(url, timeout=_CONNECT_SECONDS) as response:  # noqa: S310 - https constants
            content: bytes = response.read(_CHUNK)
    except (urllib.error.URLError, ssl.SSLError, TimeoutError, OSError) as failure:
        raise DownloadError(f"{url}: {failure}") from failure
    return content


def _fetch(url: str, target: Path, running: Step) -> str:
    """Write `url` to `target`; returns its sha256."""
    digest, size = hashlib.sha256(), 0
    try:
        with (
            urllib.request.urlopen(url, timeout=_CONNECT_SECONDS) as response,  # noqa: S310 - https constants
            target.open("wb") as file,
        ):
            while chunk := response.read(_CHUNK):
                digest.update(chunk)
                file.write(chunk)
                size += len(chunk)
                running.detail = f"{size // _CHUNK} MiB"
    except (urllib.error.URLError, ssl.SSLError, TimeoutError, OSError) as failure:
        raise DownloadError(f"{url}: {failure}") from failure
    return digest.hexdigest()


def _extract(archive: Path, target: Path) -> None:
    try:
        with tarfile.open(archive) as tar:
            member = tar.extractfile("pulumi/pulumi")
            if member is None:
                raise DownloadError(f"{archive.name} holds no pulumi/pulumi")
            with target.open("wb") as file:
                while chunk := member.read(_CHUNK):
                    file.write(chunk)
    except (tarfile.TarError, KeyError) as failure:
        raise DownloadError(f"{archive.name}: {failure}") from failure
