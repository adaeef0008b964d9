"""A model's folder on this node: what is there, what is on its way, and who may change it.

    <root>/model/       what engines mount, read-only; the folder itself is never replaced, because they hold it
    <root>/state.json   which objects the files there are, noted by which boot of the node
    <root>/arriving/    what is being fetched; a name without `.part` is a whole file
    <root>/lock         held by who changes any of it

Everything belongs to who runs this (root) and may be read by everybody: servers of one model share the copy, whatever
their users are. Nothing is synced to the disk, so nothing of another boot counts.
"""

import contextlib
import fcntl
import hashlib
import json
import os
import shutil
import stat
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path

from bucket import Listed
from node_boot import boot_id

PART = ".part"
_LONGEST_STATE = 64 * 1024**2

Objects = Mapping[str, Listed]
"""By their names in the folder."""


class ModelFolder:
    """One model's. All but `locked` only with the lock."""

    def __init__(self, root: Path, source: str) -> None:
        self._root, self._source, self._boot = root, source, boot_id()
        self.model = root / "model"
        self._arriving, self._state = root / "arriving", root / "state.json"

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """Hold the folder against every other pod of this node, however long that takes: a dead process holds nothing.

        A lock of the file system, not a file that says so: process ids mean nothing in another container.
        """
        self._root.mkdir(parents=True, exist_ok=True)
        fd = os.open(self._root / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX)
            self.model.mkdir(exist_ok=True)
            self._arriving.mkdir(exist_ok=True)
            yield
        finally:
            os.close(fd)

    def present(self) -> dict[str, Listed]:
        """Return what is there and known. What another boot or another bucket left is removed: nobody runs on it."""
        boot, source, files = self._noted()
        if (boot, source) != (self._boot, self._source):
            if boot != self._boot and boot:
                shutil.rmtree(self.model)
                self.model.mkdir()
            return {}
        return {name: listed for name, listed in files.items() if _size(self.model / name) == listed.size}

    def arriving(self, name: str, listed: Listed) -> Path:
        """Return where a file is fetched to: another place for another object, and in another boot."""
        told = json.dumps([self._boot, self._source, name, listed.size, listed.etag])
        return self._arriving / hashlib.sha256(told.encode()).hexdigest()

    def sweep(self, missing: Objects) -> set[str]:
        """Remove what came for something else or in part; return which of the missing files are whole already."""
        wanted = {self.arriving(name, listed): name for name, listed in missing.items()}
        for path in self._arriving.iterdir():
            if path not in wanted:
                path.unlink()
        return {name for path, name in wanted.items() if path.exists()}

    def settle(self, wanted: Objects, kept: Collection[str]) -> None:
        """Make the folder hold what is wanted and nothing else. What is not kept has arrived.

        Killed in between, it knows of no file that it does not have: those are fetched once more.
        """
        self._note({name: wanted[name] for name in kept})
        for path in sorted(self.model.rglob("*"), reverse=True):
            if stat.S_ISDIR(path.lstat().st_mode):
                with contextlib.suppress(OSError):  # not empty
                    path.rmdir()
            elif str(path.relative_to(self.model)) not in wanted:
                path.unlink()
        for name, listed in wanted.items():
            if name not in kept:
                (self.model / name).parent.mkdir(parents=True, exist_ok=True)
                # an engine that has the old one open keeps it
                self.arriving(name, listed).replace(self.model / name)
        self._note(wanted)

    def room(self) -> tuple[int, int]:
        """Return how many bytes of the disk are free, and how many it has."""
        disk = os.statvfs(self._root)
        return disk.f_bavail * disk.f_frsize, disk.f_blocks * disk.f_frsize

    def _noted(self) -> tuple[str, str, dict[str, Listed]]:
        try:
            with self._state.open(encoding="utf-8") as file:
                noted = json.loads(file.read(_LONGEST_STATE))
            files = {str(name): Listed(int(size), str(etag)) for name, (size, etag) in noted["files"].items()}
            return str(noted["boot"]), str(noted["source"]), files
        except (OSError, ValueError, TypeError, KeyError, AttributeError):
            return "", "", {}  # a file that is not there, or that a crash has cut: nothing is known

    def _note(self, files: Objects) -> None:
        noted = {name: [listed.size, listed.etag] for name, listed in files.items()}
        draft = self._state.with_suffix(".draft")
        draft.write_text(json.dumps({"boot": self._boot, "source": self._source, "files": noted}), encoding="utf-8")
        draft.replace(self._state)


def _size(path: Path) -> int:
    """Return a file's size; of nothing, and of what is no file, one that no object has."""
    try:
        found = path.lstat()
    except OSError:
        return -1
    return found.st_size if stat.S_ISREG(found.st_mode) else -1
