"""What kubelet says of a pod in events: which image was pulled, how long that took, or that it was there."""

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from ops.coldstart.measure.seen.clock import moment
from ops.coldstart.record import Pull

_CONTAINER = re.compile(r"\{(.+)\}$")
"""In `spec.containers{vllm}`, the field that an event is about."""

_PULLED = re.compile(r"^Successfully pulled image .* in (\S+?)(?: \((\S+) including waiting\))?[.]?(?: |$)")
_PRESENT = "already present on machine"
"""kubelet's words (v1.36.3, pkg/kubelet/images/image_manager.go)."""

_UNITS = {"h": 3600.0, "m": 60.0, "s": 1.0, "ms": 1e-3, "\N{MICRO SIGN}s": 1e-6, "ns": 1e-9}
_PART = re.compile(rf"(\d+(?:\.\d+)?)({'|'.join(sorted(_UNITS, key=len, reverse=True))})")


@dataclass(frozen=True, kw_only=True)
class Event:
    """An event of a pod. Times are of whoever says it: of kubelet, the node's clock."""

    reason: str
    container: str
    """Empty: of the whole pod."""
    message: str
    first: float
    last: float
    """The same as `first` for what happened once: events of one kind are one, with a count."""


@dataclass(frozen=True, kw_only=True)
class Pulled:
    """How the engine's image came to the node."""

    how: Pull
    begin: float = 0.0
    """Seconds since 1970 by the node's clock, of a pull."""
    end: float = 0.0


def events(items: Iterable[Mapping[str, Any]]) -> list[Event]:
    """Return the API's events (core/v1) in order. Those of the scheduler have `eventTime` alone, with microseconds."""
    found = []
    for item in items:
        series = item.get("series") or {}
        times = [item.get(key) for key in ("eventTime", "firstTimestamp", "lastTimestamp")]
        known = [moment(it) for it in (*times, series.get("lastObservedTime")) if it]
        if known:
            field = _CONTAINER.search(item["involvedObject"].get("fieldPath") or "")
            found.append(
                Event(
                    reason=item.get("reason", ""),
                    container=field[1] if field else "",
                    message=item.get("message", ""),
                    first=known[0],
                    last=max(known),
                )
            )
    return sorted(found, key=lambda it: (it.first, it.last))


def seconds(duration: str) -> float:
    """Return the seconds of a duration as Go prints it: `1m2.3s`, `812ms`.

    Raises:
        ValueError: it is none.
    """
    parts = _PART.findall(duration)
    if not parts or "".join(number + unit for number, unit in parts) != duration:
        raise ValueError(f"{duration!r} is no duration")
    return sum(float(number) * _UNITS[unit] for number, unit in parts)


def pulled(found: Iterable[Event], containers: Collection[str]) -> Pulled:
    """Return how an image came to the node.

    Args:
        found: the pod's events.
        containers: those that run it. The first of them pulls; to those after it, it is present.
    """
    its = [it for it in found if it.container in containers]
    ends = [(it, done) for it in its if it.reason == "Pulled" and (done := _PULLED.match(it.message))]
    if ends:
        event, done = ends[0]
        begun = [it.first for it in its if it.reason == "Pulling"]
        # an event has whole seconds and the message has milliseconds; but it tells of the last of several attempts
        whole = event.first - seconds(done[2] or done[1])
        tried_once = not any(it.reason in {"Failed", "BackOff"} for it in its)
        return Pulled(how="pulled", begin=whole if tried_once or not begun else begun[0], end=event.first)
    if any(it.reason == "Pulled" and _PRESENT in it.message for it in its):
        return Pulled(how="already present")
    return Pulled(how="unknown")
