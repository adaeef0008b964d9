"""Marks of starts below the cache root: who was starting from this folder, is it alive, and did a start ever end well?

A mark is a file `.starting-<host name>` whose writer holds a lock on it for as long as it lives. The kernel gives the
lock back however the writer ends, so a mark that can be locked belongs to a start that died, and one that cannot is
another container's (a second replica of the server on the same node). Its text is how much of the cache has already
been given up for it. It is tiny and may be empty: a full disk still takes it.

Whoever looks at marks holds the folder itself (`alone`) from the look to its own mark: else two could take each other's
look for a living start, move what the other has begun to write, or remove a mark that a new start has put in the place
of the dead one.
"""

import contextlib
import fcntl
import os
import re
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

PREFIX = ".starting-"
READY = ".ready"
"""There when an engine has been ready in this folder. A restore brings a new folder, which has none."""

PATIENCE = 10.0
"""Seconds to wait for another that looks at the marks: it moves a few folders. A stopped one must not stop this one."""

_POLL = 0.02


def own(root: Path) -> Path:
    """Return the place of this container's mark. Wrapper and probe agree on it by the pod's host name."""
    host = os.environ.get("HOSTNAME") or os.uname().nodename
    return root / (PREFIX + re.sub(r"[^A-Za-z0-9.-]", "-", host)[:200])


@dataclass(frozen=True)
class Found:
    """What the marks of a folder say."""

    given_up: int | None
    """How much the furthest of the dead starts had given up; None when no start died."""
    dead: tuple[Path, ...]
    alive: bool
    """Another container is starting from the same folder right now."""


@contextlib.contextmanager
def alone(root: Path) -> Iterator[None]:
    """Hold the folder against every other that looks at its marks, as far as that can be had."""
    try:
        folder = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError:
        yield
        return
    try:
        end = time.monotonic() + PATIENCE
        while not _lock(folder) and time.monotonic() < end:
            time.sleep(_POLL)
        yield
    finally:
        os.close(folder)


def find(root: Path) -> Found:
    """Return what the marks below the root say. What cannot be read says nothing. Only `alone`."""
    given_up: list[int] = []
    dead: list[Path] = []
    alive = False
    for path in sorted(_listed(root)):
        try:
            file = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
        except OSError:  # removed in between
            continue
        try:
            if _lock(file):
                dead.append(path)
                given_up.append(_number(os.read(file, 16)))
            else:
                alive = True
        finally:
            os.close(file)
    return Found(max(given_up, default=None), tuple(dead), alive)


def write(root: Path, given_up: int) -> None:
    """Write this container's mark. Its lock is held until this process ends.

    Raises:
        OSError: the folder takes no file.
    """
    path = own(root)
    # locked before it has its name, or another container could take it for a dead one in between
    draft = path.with_name(f".draft{path.name}")
    with contextlib.suppress(OSError):
        draft.unlink()
    file = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o644)
    try:
        _lock(file)
        with contextlib.suppress(OSError):  # a full disk: the file is there, and empty means 0
            os.write(file, str(given_up).encode())
        draft.replace(path)
    except OSError:
        os.close(file)
        raise


def ready(root: Path) -> None:
    """Say that this container's engine is ready: its start is over, and went well."""
    with contextlib.suppress(OSError):
        (root / READY).touch()
    remove(own(root))


def was_ready(root: Path) -> bool:
    """Tell whether any start from this folder went well."""
    return (root / READY).exists()


def remove(*paths: Path) -> None:
    """Remove marks, as far as they are there and can be removed."""
    for path in paths:
        with contextlib.suppress(OSError):
            path.unlink()


def _listed(root: Path) -> Iterator[Path]:
    with contextlib.suppress(OSError):
        yield from root.glob(f"{PREFIX}*")


def _lock(file: int) -> bool:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:  # a file system without locks: better a cache given up in vain than a loop
        return True
    return True


def _number(raw: bytes) -> int:
    return int(raw) if raw.isdigit() else 0
