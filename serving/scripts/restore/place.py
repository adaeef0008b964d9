"""The server's folder on this node: empty or complete at every moment, whoever dies when.

    <cache>/<server>/<fingerprint>        what the engine mounts
    <cache>/<server>/.lock-<fingerprint>  held while it is restored
    <cache>/<server>/.tmp-<fingerprint>-…       being extracted
    <cache>/<server>/.aside-<fingerprint>-…     gave way to a restored one; an engine may still run on it

Nothing is synced to the disk. Against a killed process the rename is enough; against a power cut it is not, and syncing
218 MB would cost more than the restore (1.7 s on a gp3 volume). So the marker names the boot of this node: what was
restored in another boot counts as local content, and gives way.
"""

import contextlib
import fcntl
import os
import secrets
import shutil
import threading
from collections.abc import Iterator
from pathlib import Path

import restored
from node_boot import boot_id
from outcome import Limit, TimedOutError
from restored import Restored

_POLL = 0.05


class Place:
    """One folder to be filled."""

    def __init__(self, cache: str, server: str, fingerprint: str, owner: tuple[int, int] | None) -> None:
        self._parent = Path(cache, server)
        self._name = fingerprint
        self.owner = owner
        self._boot = boot_id()
        self._gate = threading.Lock()
        self._closed = False
        self.published = False
        self.target = self._parent / fingerprint

    @contextlib.contextmanager
    def locked(self, limit: Limit) -> Iterator[None]:
        """Hold the folder against other restores on this node; a dead process holds nothing.

        A lock of the file system, not a file that says so: process ids mean nothing in another container.
        """
        self._parent.mkdir(parents=True, exist_ok=True)
        fd = os.open(self._parent / f".lock-{self._name}", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            while True:
                try:
                    fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    break
                except BlockingIOError:
                    limit.pause(_POLL)
                    if limit.over():
                        raise TimedOutError("another restore of this folder is running") from None
            yield
        finally:
            os.close(fd)

    def sweep(self) -> None:
        """Remove what dead restores left, and what gave way before this boot. Only with the lock."""
        temporary, aside = f".tmp-{self._name}-", f".aside-{self._name}-"
        for path in self._parent.iterdir():
            old = path.name.startswith(aside) and not path.name.startswith(f"{aside}{self._boot}-")
            if old or path.name.startswith(temporary):
                shutil.rmtree(path, ignore_errors=True)

    def restored(self) -> Restored | None:
        """Return what was restored here in this boot."""
        found = restored.read(self.target)
        return found if found and found.boot == self._boot else None

    @contextlib.contextmanager
    def temporary(self) -> Iterator[Path]:
        """Give a new folder to extract into; it is gone afterwards unless it was published."""
        path = self._beside("tmp")
        path.mkdir(0o755)
        try:
            self._own(path)
            yield path
        finally:
            shutil.rmtree(path, ignore_errors=True)

    def publish(self, path: Path, fingerprint: str, sha256: str) -> None:
        """Put the complete folder of an archive where the engine mounts it."""
        self._own(restored.write(path, Restored(fingerprint, sha256, self._boot)))
        with self._gate:
            if self._closed:
                raise TimedOutError("limit reached before the folder was published")
            # Also an empty folder is moved, never replaced: a pod may have it mounted already.
            with contextlib.suppress(FileNotFoundError):
                self.target.rename(self._beside("aside", boot=self._boot))
            path.rename(self.target)
            self.published = True

    def leave(self) -> None:
        """Make sure that a folder of the engine's is there, and publish nothing from now on."""
        with self._gate:
            self._closed = True
            if not self.target.is_dir() or self.target.is_symlink():
                self._parent.mkdir(parents=True, exist_ok=True)
                with contextlib.suppress(FileNotFoundError):
                    self.target.rename(self._beside("aside", boot=self._boot))
                self.target.mkdir(0o755, exist_ok=True)
            self._own(self.target)

    def _own(self, path: Path) -> None:
        if self.owner:
            os.chown(path, *self.owner, follow_symlinks=False)

    def _beside(self, kind: str, *, boot: str = "") -> Path:
        return self._parent / f".{kind}-{self._name}-{boot + '-' if boot else ''}{secrets.token_hex(8)}"
