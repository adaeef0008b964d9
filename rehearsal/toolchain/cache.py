"""The user's tool cache: one folder per program and version, filled once, by one process."""

from __future__ import annotations

import fcntl
import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from rehearsal.toolchain.progress import step


def folder(program: str, version: str, environment: Mapping[str, str] | None = None) -> Path:
    """`$XDG_CACHE_HOME` or `~/.cache`, then `vllm-eks/toolchain/<program>/<version>`."""
    env = os.environ if environment is None else environment
    base = env.get("XDG_CACHE_HOME") or str(Path(env.get("HOME") or Path.home()) / ".cache")
    return Path(base) / "vllm-eks" / "toolchain" / program / version


def cached(target: Path, make: Callable[[Path], None]) -> Path:
    """`target`, a program or a folder, made by `make(temporary path)` if it is not there yet.

    Two processes that ask at once make it once. `target` appears by a rename, so a `make` that
    fails or is killed leaves nothing that a later call would take for the program. An empty file,
    as a full disk or a power cut leaves, is made again.
    """
    if _is_whole(target):
        return target
    target.parent.mkdir(parents=True, exist_ok=True)
    with _locked(target.parent / "lock"):
        if _is_whole(target):
            return target
        for leftover in target.parent.glob(f"{target.name}.partial-*"):
            _remove(leftover)
        partial = target.with_name(f"{target.name}.partial-{os.getpid()}")
        try:
            make(partial)
            partial.chmod(0o755)
            _flush(partial)
            partial.rename(target)
        finally:
            _remove(partial)
    return target


def _is_whole(path: Path) -> bool:
    return path.is_dir() or (path.is_file() and path.stat().st_size > 0)


def _flush(path: Path) -> None:
    # Without it a power cut can leave the new name with none of the content.
    if path.is_file():
        with path.open("rb") as file:
            os.fsync(file.fileno())


def _remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    # The kernel drops the lock when its process dies, so a killed build blocks nobody.
    with path.open("w") as handle:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            with step(f"waiting for another rehearsal that prepares {path.parent}"):
                fcntl.flock(handle, fcntl.LOCK_EX)
        yield
