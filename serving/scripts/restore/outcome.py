"""How a restore ended: the errors that end one, and the one line that is logged about it."""

import re
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

Outcome = Literal["hit", "base", "present", "miss", "corrupt", "denied", "no-credentials", "timeout", "failed"]
"""`base`: the fingerprint has no archive, the base was restored. `present`: an earlier run on this node restored what
there is to restore. `corrupt`: what the bucket holds is not what its manifest says. `denied`: misconfigured. `failed`:
this node (disk full)."""

Restored = Literal["fingerprint", "base", "none"]


class RestoreError(Exception):
    """Ends a restore. The message is the reason in the log line."""

    outcome: Outcome = "failed"


class MissingError(RestoreError):
    """There is no such object."""

    outcome = "miss"


class CorruptError(RestoreError):
    """What was read is not what was promised."""

    outcome = "corrupt"


class DeniedError(RestoreError):
    """S3 refuses, and would refuse again: rights, wrong bucket, wrong region."""

    outcome = "denied"


class NoCredentialsError(RestoreError):
    """There was nobody to be, up to the limit."""

    outcome = "no-credentials"


class TimedOutError(RestoreError):
    """The limit was reached."""

    outcome = "timeout"


class Limit:
    """The time that a restore may take, and the way to end it early from another thread."""

    def __init__(self, seconds: float) -> None:
        self._end = time.monotonic() + seconds
        self._over = threading.Event()
        self._at_end: list[Callable[[], None]] = []

    def remaining(self) -> float:
        """Return the seconds left, or less than none."""
        return self._end - time.monotonic()

    def left(self, most: float = float("inf")) -> float:
        """Return the seconds left, at most `most`.

        Raises:
            TimedOutError: there are none.
        """
        left = self.remaining()
        if left <= 0 or self._over.is_set():
            raise TimedOutError("limit reached")
        return min(left, most)

    def over(self) -> bool:
        """Tell whether the limit is reached."""
        return self._over.is_set() or self.remaining() <= 0

    def pause(self, seconds: float) -> None:
        """Sleep; wakes up when the limit is reached."""
        self._over.wait(max(0.0, min(seconds, self.remaining())))

    def end(self) -> None:
        """Whoever asks from now on has no time left; wakes up who waits for something else."""
        self._over.set()
        for wake in self._at_end:
            wake()

    def at_end(self, wake: Callable[[], None]) -> None:
        """Have this called when the limit is ended."""
        self._at_end.append(wake)


@dataclass(frozen=True, kw_only=True)
class Report:
    """What the log line says."""

    outcome: Outcome
    restored: Restored = "none"
    """What this run put there, and with `present` what an earlier one did: `none` when it was given up since. With
    `corrupt` the base may be there, by this run (then it has bytes) or an earlier one."""
    bytes: int = 0
    files: int = 0
    seconds: float = 0.0
    reason: str = ""

    def line(self) -> str:
        """Return the line; `LINE` reads it."""
        reason = " ".join(self.reason.replace('"', "'").split())[:400]
        return (
            f"cache-restore: outcome={self.outcome} restored={self.restored} bytes={self.bytes}"
            f' files={self.files} seconds={self.seconds:.3f} reason="{reason}"'
        )


LINE = re.compile(
    r"cache-restore: outcome=(?P<outcome>[a-z-]+) restored=(?P<restored>[a-z]+) bytes=(?P<bytes>\d+)"
    r' files=(?P<files>\d+) seconds=(?P<seconds>\d+\.\d{3}) reason="(?P<reason>[^"]*)"'
)
