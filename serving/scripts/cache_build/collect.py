"""What a build leaves on disk, as archives: which files, in which order, with which times.

Deterministic but for the files themselves: sorted, owner 0, two modes. Times are kept, cut to whole seconds. Kept, or
FlashInfer builds again for 100 s: ninja compares them. Cut, because a time that comes back 100 ns later (a restore may
set it from a float) is newer than what ninja wrote down of it in `.ninja_deps`: it would build again too.
"""

import hashlib
import os
import stat
import tarfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from wrapper import COMPILE_CACHE

_BLOCK = 1024 * 1024


class ChangedError(Exception):
    """A file changed while it was read: something still writes."""


class LayoutError(Exception):
    """The engine's folders are not where they would be archived."""


@dataclass(frozen=True)
class Layout:
    """Folders of the root that are treated apart, relative to it."""

    compile_cache: PurePosixPath
    never: tuple[PurePosixPath, ...]
    """Never archived: copies of the model's files, downloads, and the plan of this very GPU's free memory."""

    @classmethod
    def of(cls, root: Path, environment: Mapping[str, str]) -> "Layout":
        """Return the layout that the engine's environment gives.

        Raises:
            LayoutError: its cache is not below the root.
        """
        home = Path(environment.get("HOME") or root / "home")
        vllm = Path(environment.get("VLLM_CACHE_ROOT") or home / ".cache/vllm")
        if not vllm.is_relative_to(root):
            raise LayoutError(f"the engine's cache would be {vllm}, not below {root}: VLLM_CACHE_ROOT or HOME moves it")
        assets = environment.get("VLLM_ASSETS_CACHE") or home / ".cache/vllm/assets"
        never = [Path(assets), home / ".cache/huggingface", vllm / "startup_plan"]
        return cls(
            _below(root, vllm / COMPILE_CACHE),
            tuple(_below(root, path) for path in never if path.is_relative_to(root)),
        )


@dataclass(frozen=True)
class Member:
    """One entry of an archive."""

    name: str
    path: Path
    kind: bytes
    target: str = ""


@dataclass(frozen=True)
class Archive:
    """An archive on disk."""

    path: Path
    sha256: str
    bytes: int
    files: int


def members(root: Path, layout: Layout, left_out: Callable[[str], None]) -> Iterator[Member]:
    """Yield what belongs into the whole archive, sorted by name; hidden entries at the top are this project's own.

    Args:
        root: the cache root.
        layout: what is where.
        left_out: told about each link that would lead out of the root.
    """
    for path in sorted(root.rglob("*"), key=lambda found: found.relative_to(root).as_posix()):
        relative = PurePosixPath(path.relative_to(root).as_posix())
        if relative.parts[0].startswith(".") or any(relative.is_relative_to(folder) for folder in layout.never):
            continue
        mode = path.lstat().st_mode
        if stat.S_ISLNK(mode):
            target = path.readlink()
            absolute = Path(os.path.normpath(path.parent / target))
            if absolute.is_relative_to(root):
                yield Member(str(relative), path, tarfile.SYMTYPE, os.path.relpath(absolute, path.parent))
            else:
                left_out(f"{relative}: a link to {target}")
        elif stat.S_ISDIR(mode):
            yield Member(str(relative), path, tarfile.DIRTYPE)
        elif stat.S_ISREG(mode):
            yield Member(str(relative), path, tarfile.REGTYPE)


def base_of(found: list[Member], layout: Layout) -> list[Member]:
    """Return the members that do not depend on the server's flags."""
    return [member for member in found if not PurePosixPath(member.name).is_relative_to(layout.compile_cache)]


def snapshot(root: Path, layout: Layout) -> dict[str, tuple[int, int]]:
    """Return size and time of each file that would be archived: what a second start must leave alone."""
    return {
        member.name: (member.path.stat().st_size, member.path.stat().st_mtime_ns)
        for member in members(root, layout, lambda _: None)
        if member.kind == tarfile.REGTYPE
    }


def write(found: list[Member], path: Path) -> Archive:
    """Write the members as a tar.

    Raises:
        ChangedError: a file is not as long as it was.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as raw:
        hashed = _Hashed(raw.write)
        with tarfile.open(fileobj=hashed, mode="w|", format=tarfile.PAX_FORMAT, bufsize=_BLOCK) as tar:  # type: ignore[call-overload] # it needs write() alone
            for member in found:
                _add(tar, member)
    files = sum(member.kind != tarfile.DIRTYPE for member in found)
    return Archive(path, hashed.digest.hexdigest(), hashed.bytes, files)


def _add(tar: tarfile.TarFile, member: Member) -> None:
    status = member.path.lstat()
    info = tarfile.TarInfo(member.name)
    info.type = member.kind
    info.mtime = int(status.st_mtime_ns // 1_000_000_000)
    info.mode = 0o755 if status.st_mode & stat.S_IXUSR or member.kind != tarfile.REGTYPE else 0o644
    info.linkname = member.target
    if member.kind != tarfile.REGTYPE:
        tar.addfile(info)
        return
    info.size = status.st_size
    with member.path.open("rb") as file:
        try:
            tar.addfile(info, file)
        except OSError as error:  # "unexpected end of data"
            raise ChangedError(f"{member.name}: {error}") from error
        if file.read(1):
            raise ChangedError(f"{member.name}: it grew while it was read")


class _Hashed:
    """A file that knows the checksum of what was written."""

    def __init__(self, sink: Callable[[bytes], int]) -> None:
        self._sink = sink
        self.digest = hashlib.sha256()
        self.bytes = 0

    def write(self, block: bytes) -> int:
        self.digest.update(block)
        self.bytes += len(block)
        return self._sink(block)


def _below(root: Path, path: Path) -> PurePosixPath:
    return PurePosixPath(path.relative_to(root).as_posix())
