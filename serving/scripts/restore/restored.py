"""What a folder says of its restore: the file `manifest.MARKER` at its top.

The restore writes it. The engine's parent writes it once more when it gives content up, so that the next restore on
this node knows that the folder no longer holds what it was filled with.
"""

import contextlib
import json
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from manifest import MARKER

_MOST_BYTES = 64 * 1024


@dataclass(frozen=True)
class Restored:
    """Where the content came from."""

    fingerprint: str
    """`base` for the base."""
    sha256: str
    """Of the archive."""
    boot: str
    """Of the node: what was restored in another one may have been lost."""
    given_up: bool = False
    """Some of it was moved aside since, or all."""


def read(folder: Path) -> Restored | None:
    """Return what the folder says; None when nothing was restored there, or nobody can tell what."""
    try:
        with (folder / MARKER).open(encoding="utf-8") as file:
            found = Restored(**json.loads(file.read(_MOST_BYTES)))
    except (OSError, ValueError, TypeError, RecursionError):
        return None
    # the folder is the engine's, so anything may stand there
    return found if all(isinstance(value, str) for value in (found.fingerprint, found.sha256, found.boot)) else None


def write(folder: Path, restored: Restored) -> Path:
    """Write it as a whole or not at all, and return where.

    Raises:
        OSError: the folder takes no file.
    """
    path, draft = folder / MARKER, folder / f"{MARKER}.draft"
    draft.unlink(missing_ok=True)
    with draft.open("x", encoding="utf-8") as file:
        json.dump(asdict(restored), file)
    return draft.replace(path)


def give_up(folder: Path) -> None:
    """Say that content was given up. A full disk may refuse: then the folder still counts as restored."""
    if found := read(folder):
        with contextlib.suppress(OSError):
            write(folder, replace(found, given_up=True))
