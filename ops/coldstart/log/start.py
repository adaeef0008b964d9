"""What is known of a start when its log has been read."""

from collections.abc import Mapping
from dataclasses import dataclass

from ops.coldstart.log.lines import Clock
from ops.coldstart.record import Compile, Span
from serving.budget.timeline import Phase


@dataclass(frozen=True, kw_only=True)
class EngineStart:
    """What a log says of the last start in it. Times are seconds by its clock."""

    version: str
    clock: Clock
    first: float
    """When the start begins in the log: 0 by the relative clock, else its first line."""
    serving: float | None
    """When the server listened; None: it did not, in this log."""
    spans: Mapping[Phase, Span]
    """Seconds since `first`, in their order."""
    compile: Compile
    why_no_hit: str | None
    """The reason when torch.compile was no full hit."""
    said: Mapping[str, float]
    """Seconds that the engine itself reports: `weights` read, `model loading`, `compile`, `graphs`, `engine init`. Of
    ranks the longest."""
    restarts: int
    """Starts before this one in the same log."""
    sleeps: tuple[tuple[float, float], ...]
    """Ends of falling asleep, and how long each took."""
    wakes: tuple[tuple[float, float], ...]
    restored: str | None
    """The last line of a container that restores caches before the engine; None: there is none in the log."""
    failed: bool
    """The engine says that it could not start."""
    notes: tuple[str, ...]

    @property
    def total(self) -> float | None:
        """Seconds from `first` until it served."""
        return None if self.serving is None else self.serving - self.first
