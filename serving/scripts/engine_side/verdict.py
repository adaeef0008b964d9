"""The agent's verdict over an engine that does not wake: a file that the engine's liveness probe reads.

It counts while it is fresh. An agent that is gone lifts it: a fault of the agent must never restart an engine that took
minutes to start.
"""

import contextlib
import time
from pathlib import Path

AGE = 30.0
"""Seconds for which it counts."""


def write(path: Path, reason: str) -> None:
    """Say it, or say it again."""
    with contextlib.suppress(OSError):
        draft = path.with_name(f".{path.name}")
        draft.write_text(f"{reason}\n")
        draft.replace(path)


def remove(path: Path) -> None:
    """Lift it."""
    with contextlib.suppress(OSError):
        path.unlink()


def read(path: Path) -> str | None:
    """Return the reason of a verdict that counts; one from the future (a clock was set back) does not."""
    try:
        age = time.time() - path.stat().st_mtime
        return path.read_text().strip() if -1.0 <= age <= AGE else None
    except (OSError, ValueError):
        return None
