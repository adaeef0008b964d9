"""Which requests are with the engine and which wait for it, by the id that nginx gave them.

A request is open from the moment it is admitted until nginx says that it has ended, whoever ended it. The word of its
end is a datagram, and one may be lost: `quiet` forgets what the engine itself has not known for a while.
"""

from collections.abc import Iterator

LOST = 60.0
"""Seconds for which an engine must have said that it runs and queues nothing before an open request is taken for one
whose end was lost. What an engine does with a request before it counts it (images, tokens) is far shorter."""


class Ledger:
    """Ids of requests: open ones with the time of their admission, waiting ones with the time until which they may."""

    def __init__(self, lost: float = LOST) -> None:
        """`lost`: seconds, see `LOST`."""
        self.open: dict[str, float] = {}
        self.held: dict[str, float] = {}
        self.lost = 0
        """Requests whose end nobody told."""
        self._patience = lost
        self._quiet: dict[str, float] = {}

    def hold(self, request: str, until: float) -> None:
        """Let a request wait. One that waits already keeps its time."""
        self.held.setdefault(request, until)

    def admit(self, request: str, now: float) -> None:
        """Open a request."""
        self.held.pop(request, None)
        self.open.setdefault(request, now)

    def ended(self, request: str) -> bool:
        """Close a request, also one that ended while it waited. False: it was not open."""
        self.held.pop(request, None)
        self._quiet.pop(request, None)
        return self.open.pop(request, None) is not None

    def overdue(self, now: float) -> Iterator[str]:
        """Take out and yield the requests that have waited long enough."""
        for request in [request for request, until in self.held.items() if until <= now]:
            del self.held[request]
            yield request

    def all_held(self) -> Iterator[str]:
        """Take out and yield everything that waits, oldest first."""
        while self.held:
            request = next(iter(self.held))
            del self.held[request]
            yield request

    def oldest(self) -> float | None:
        """Return when the oldest open request was admitted."""
        return next(iter(self.open.values()), None)

    def quiet(self, active: float, now: float) -> None:
        """Take in what the engine says it runs and queues; forget requests that it has not had for long enough."""
        # when, for each open request, the unbroken row of such looks began
        self._quiet = {request: self._quiet.get(request, now) for request in self.open} if active == 0 else {}
        for request in [request for request, since in self._quiet.items() if now - since >= self._patience]:
            self.ended(request)
            self.lost += 1

    def clear(self) -> None:
        """Forget what is open: the engine that had it is gone."""
        self.open.clear()
        self._quiet.clear()
