"""`ops status`: a row for each pod, and what of it is a failed check. Pure: `look` fetches what is in it."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from ops import COMMAND
from ops.failures import UsageError
from ops.live.state import Standing
from ops.terminal import columns, echo

NOT_SEEN = "?"
HEAD = ("SERVER", "POD", "STATE", "NODE", "TYPE", "CAPACITY", "CACHE", "RUN/WAIT/HELD", "USD/H")

_AGE = re.compile(r"([1-9][0-9]{0,4})([smhd])")
_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400}


@dataclass(frozen=True, kw_only=True)
class Node:
    """Where a pod runs."""

    name: str
    instance_type: str = ""
    capacity: str = ""
    """spot, on-demand or reserved; empty: Karpenter did not make it."""
    age: float = 0.0
    """Seconds."""
    usd: float | None = None
    """An hour, on-demand; None: no source has it for this type and region."""
    unpriced: str = ""
    """Then: the setting that says it."""

    @property
    def price(self) -> str:
        """What an hour of it costs, in words: Spot has a price of its own that no table here knows."""
        if self.usd is None:
            return "unknown"
        return f"< {self.usd:.2f}" if self.capacity == "spot" else f"{self.usd:.2f}"


@dataclass(frozen=True, kw_only=True)
class Row:
    """A pod, or a server that has none."""

    server: str
    pod: str | None
    standing: Standing
    seconds: float | None = None
    """In this state, where the agent tells."""
    node: Node | None = None
    fallback: bool = False
    """Its pool is Spot-first, and its node is not."""
    cache: str | None = None
    """Outcome of the last restore of its start-up cache, of what, and how much; None: no restore in this pod."""
    running: int | None = None
    waiting: int | None = None
    held: int | None = None
    """Requests that the engine runs, that it queues, and that wait at the agent."""
    unseen: Sequence[str] = field(default=())
    """What could not be read, and why."""

    def document(self) -> dict[str, Any]:
        """Return it for a program."""
        node = self.node
        return {
            "server": self.server,
            "pod": self.pod,
            "state": self.standing.word,
            "detail": self.standing.detail or None,
            "stateSeconds": self.seconds,
            "node": node and node.name,
            "instanceType": node and (node.instance_type or None),
            "capacity": node and (node.capacity or None),
            "nodeAgeSeconds": node and round(node.age),
            "onDemandFallback": self.fallback,
            "usdPerHour": node.usd if node and node.capacity != "spot" else None,
            "usdPerHourAtMost": node and node.usd,
            "cache": self.cache,
            "running": self.running,
            "waiting": self.waiting,
            "held": self.held,
            "unseen": list(self.unseen),
        }

    def cells(self) -> tuple[str, ...]:
        """Return its line of the table."""
        since = f" {spoken(self.seconds)}" if self.seconds is not None else ""
        node = self.node
        bought = node.capacity or NOT_SEEN if node else ""
        if node and self.fallback:
            bought += f" (fall-back {spoken(node.age)})"
        counts = (self.running, self.waiting, self.held)
        requests = (
            "/".join("-" if it is None else str(it) for it in counts) if any(it is not None for it in counts) else ""
        )
        return (
            self.server,
            self.pod or "-",
            f"{self.standing.word}{since}",
            node.name if node else "",
            node.instance_type or NOT_SEEN if node else "",
            bought,
            self.cache or "",
            requests,
            node.price if node else "",
        )

    def notes(self) -> Iterator[str]:
        """Yield the lines below the table."""
        title = f"{self.server}/{self.pod}" if self.pod else self.server
        if self.standing.detail:
            yield f"{title}: {self.standing}"
        if self.node and self.node.unpriced:
            yield f"{title}: {self.node.unpriced}"
        for line in self.unseen:
            yield f"{title}: cannot tell: {line}"


def table(rows: Sequence[Row]) -> str:
    """Return the rows for people."""
    notes = [note for row in rows for note in row.notes()]
    return "\n".join([columns([HEAD, *(row.cells() for row in rows)]), *([""] if notes else []), *notes])


def failed(rows: Sequence[Row], most_fallback: float, asked: str) -> Iterator[str]:
    """Yield a line for each failed check.

    Args:
        rows: of all pods.
        most_fallback: seconds that a node may be an on-demand fall-back.
        asked: the same as it was written.
    """
    for row in rows:
        waiting = (row.waiting or 0) + (row.held or 0)
        if row.standing.word == "asleep" and waiting:
            count = "1 request waits" if waiting == 1 else f"{waiting} requests wait"
            yield f"servers.{row.server}: pod {row.pod} sleeps and {count}: {COMMAND} wake --server {row.server}"
        if row.fallback and row.node and row.node.age > most_fallback:
            yield (
                f"servers.{row.server}: node {row.node.name} has been an on-demand fall-back for"
                f" {spoken(row.node.age)} > {asked}: {COMMAND} idle status says how to ask for Spot"
                " again, and what that costs"
            )


def unclear(rows: Sequence[Row]) -> Iterator[str]:
    """Yield a line for each thing that could not be read, so that no check of it was made."""
    for row in rows:
        for line in row.unseen:
            yield f"servers.{row.server}: {f'pod {row.pod}: ' if row.pod else ''}cannot tell: {line}"


def seconds_of(option: str, duration: str) -> float:
    """Return the seconds of `90s`, `30m`, `2h` or `1d`.

    Raises:
        UsageError: it is none of these.
    """
    found = _AGE.fullmatch(duration)
    if not found:
        raise UsageError(f"{option} {echo(duration)}: expected a time such as 30m, 2h or 1d")
    return float(int(found[1]) * _UNITS[found[2]])


def spoken(seconds: float) -> str:
    """Return a time as people read it: `45 s`, `12 min`, `3 h 5 min`, `2 d 4 h`."""
    whole = int(seconds)
    if whole < 60:
        return f"{whole} s"
    for unit, name, small, small_name in ((86400, "d", 3600, "h"), (3600, "h", 60, "min")):
        if whole >= unit:
            rest = whole % unit // small
            return f"{whole // unit} {name} {rest} {small_name}" if rest else f"{whole // unit} {name}"
    return f"{whole // 60} min"
