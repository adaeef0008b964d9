"""What outlives the agent: a file in a folder of the pod. One that comes back holds to what the one before was told.

Without it the next request would wake a sleeper that is to stay so, on a GPU that another server has by then.
"""

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import get_args

from terms import Wanted


@dataclass(frozen=True)
class Memory:
    """All of it."""

    primed: str = ""
    """The engine process that has slept once."""
    wanted: Wanted | None = None
    """The last order, or the last wanted state, that is not done yet."""
    stay: bool = False
    """No request wakes it."""
    annotation: Wanted | None = None
    """The wanted state that the pod said last (external). It counts again when the pod says something else."""


def read(path: Path) -> Memory:
    """Return what was kept; nothing, when there is no file or it is none of these."""
    try:
        kept = json.loads(path.read_text())
        found = Memory(**kept)
    except (OSError, ValueError, TypeError, RecursionError):
        return Memory()
    wishes = (None, *get_args(Wanted))
    fits = isinstance(found.primed, str) and isinstance(found.stay, bool)
    return found if fits and found.wanted in wishes and found.annotation in wishes else Memory()


def write(path: Path, memory: Memory) -> bool:
    """Keep it, whole or not at all. False: it could not be kept."""
    try:
        draft = path.with_name(f".{path.name}")
        draft.write_text(json.dumps(asdict(memory)))
        draft.replace(path)
    except OSError:
        return False
    return True
