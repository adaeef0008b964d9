"""From an engine's log to the phases of its last start.

A phase ends with its line; where the line says how long it took, it began that much before, so that silence before it
is nobody's. Of several ranks or engines the last one decides: a phase ends when all have ended it.
"""

import math
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from re import Match

from ops.coldstart.log.lines import Clock, Line, Stamps, before, chunks, first_of, head, matching, stamped
from ops.coldstart.log.markers import KERNELS_FIRST, VERSIONS, Name
from ops.coldstart.log.spans import spans
from ops.coldstart.log.start import EngineStart
from ops.coldstart.record import Compile
from ops.failures import UnclearError
from ops.programs import ENGINE_TEXTS, Start, Texts
from ops.terminal import plain

MARKERS = VERSIONS["0.33.0"]
"""While it is read nobody knows of which version a log is; so far all print the same."""

_FIRST: frozenset[Name] = frozenset({"version", "loading", "listening soon", "serving"})
"""Markers of which the first one counts: of a beginning, and of the server, which is one."""


RESTORED = "cache-restore: outcome="
"""Of the container that runs before the engine."""

_ERROR = re.compile(r"(?:[A-Za-z_][\w.]*\.)?[A-Z]\w*Error: .{1,200}")
"""The last line of a traceback."""

_LONGEST = 86400.0
"""Seconds of a start that is none: a clock was set in it."""

_SET_BACK = 2.0
"""Seconds by which lines may be out of order: several processes write, some with stamps of whole seconds."""

_SAID: Mapping[str, Name] = {
    "weights": "weights read",
    "model loading": "loaded",
    "compile": "compiled",
    "graphs": "captured",
    "engine init": "initialised",
}


@dataclass
class _Marks:
    """The lines of one start, as they come."""

    version: str | None = None
    began: float | None = None
    latest: float = -math.inf
    """The latest of its times so far: the clock may be set back."""
    set_back: float = 0.0
    """Seconds by which it was, at most."""
    at: dict[Name, float] = field(default_factory=dict)
    took: dict[Name, float] = field(default_factory=dict)
    """The longest of what the lines say."""
    lasted: dict[Name, float] = field(default_factory=dict)
    """Seconds from the first beginning of several ranks' or models' to the last end."""
    sleeps: list[tuple[float, float]] = field(default_factory=list)
    wakes: list[tuple[float, float]] = field(default_factory=list)
    cached: list[str] = field(default_factory=list)
    """Lines that speak of torch.compile's cache."""
    mixed: bool = False
    """Another container speaks in it, and nobody says whose lines are whose."""
    error: str = ""
    """The last line of a traceback; empty: there is none."""

    @property
    def any(self) -> bool:
        """Whether there is any line of it."""
        return bool(self.at or self.sleeps or self.wakes)

    def take(self, name: Name, now: float, took: float | None) -> None:
        """Note a marker's line, and the seconds that it says."""
        if "serving" not in self.at:
            self.set_back = max(self.set_back, self.latest - now)
            self.latest = max(self.latest, now)
        if name in {"asleep", "awake"}:
            (self.sleeps if name == "asleep" else self.wakes).append((now, took or 0.0))
        elif "serving" in self.at or (name == "resolved" and "loading" in self.at):
            return  # whatever it is about, the start is over; a draft model is part of it only while nothing loads
        elif name not in _FIRST or name not in self.at:
            if took is not None:
                self.took[name] = max(took, self.took.get(name, 0.0))
            if name in {"loaded", "compiled"} and took is not None:
                since = self.at[name] - self.lasted[name] if name in self.lasted else now
                self.lasted[name] = now - min(since, now - took)
            self.at[name] = now


def read(lines: Iterable[str], version: str | None = None) -> EngineStart:
    """Return what a log says, given as lines. As `read_bytes`."""
    return read_bytes((f"{line.rstrip(chr(10))}\n".encode() for line in lines), version)


def read_bytes(pieces: Iterable[bytes], version: str | None = None) -> EngineStart:
    """Return what a log says of the last start in it.

    Args:
        pieces: the log, in pieces of any size; it need not fit into memory.
        version: of the engine, for a log that does not say or says one that nobody has read.

    Raises:
        UnclearError: there is no start in it, or one of a version that nobody has read.
    """
    texts = {text for it in MARKERS.values() for text in it.texts}
    texts |= {RESTORED, "Error: ", *(text for it in ENGINE_TEXTS.values() for text in _literals(it))}
    wanted = [text.encode() for text in sorted(texts)]
    starts, stamps, pods = [_Marks()], Stamps("engine"), set[str]()
    first, last, untimed = None, None, False
    restored: str | None = None
    for number, chunk in enumerate(chunks(pieces)):
        if number == 0:
            sample = head(chunk)
            stamps = Stamps.chosen(sample)
            first = last = next((it.seconds for it in map(stamps.read, sample) if it.seconds is not None), None)
        read_to = 0
        for begin, end in matching(chunk, wanted):
            line = stamped(chunk, stamps, begin, end)
            marks = _marked(line)
            now = line.seconds
            if (at := line.text.find(RESTORED)) >= 0:
                restored = line.text[at:]
            starts[-1].mixed |= line.source is None and line.message.startswith(RESTORED)
            if marks and line.source and line.pod:
                if not pods:
                    # a first container and sidecars have spoken before the engine
                    first = first_of(chunk, stamps, line.source)
                pods.add(line.pod)
            if marks and now is None:
                # of the HTTP server's own lines some have none
                now = before(chunk, stamps, begin, read_to)
                now = last if now is None else now
            if marks and now is not None:
                read_to, last = end, now
                if "version" in marks and (starts[-1].any or number or _served(chunk[:begin], line.source)):
                    starts.append(_Marks(began=now))
                _noted(starts[-1], marks, now)
            untimed |= bool(marks) and now is None
            if "serving" not in starts[-1].at:
                starts[-1].cached.append(line.message)
                if not marks and (error := _ERROR.match(line.message)):
                    starts[-1].error = plain(error[0])
        at_end = None if "serving" in starts[-1].at else before(chunk, stamps, len(chunk), read_to)
        last = last if at_end is None else at_end
    if len(pods) > 1:
        raise UnclearError(f"lines of {len(pods)} pods: {', '.join(sorted(pods)[:3])}; one pod's at a time")
    if untimed and not starts[-1].any:
        raise UnclearError("no line of it has a time; kubectl logs --timestamps has them")
    starts[0].began = 0.0 if stamps.clock == "relative" else None if starts[0].mixed else first
    return _told(starts, stamps.clock, version, restored)


def _served(chunk: bytes, source: str | None) -> bool:
    """Whether a server worked: what is before a start is of an earlier one. A proxy's own lines are none."""
    begin = chunk.find(f"[{source}] ".encode()) if source else 0
    chunk = chunk[begin:] if begin >= 0 else b""
    return b' HTTP/1.1" ' in chunk or b"Avg prompt throughput" in chunk


def _literals(texts: Texts) -> Iterator[str]:
    """Yield what stands in the lines that speak of torch.compile's cache: those are patterns without any wildcard."""
    for pattern in (*texts.hits, *texts.misses, *texts.failures, "for vLLM's torch.compile"):
        yield pattern.replace("\\", "")


def _marked(line: Line) -> dict[Name, Match[str]]:
    """Return the markers that a line is."""
    message = line.message
    return {name: found for name, marker in MARKERS.items() if (found := marker.message.match(message))}


def _noted(marks: _Marks, found: Mapping[Name, Match[str]], now: float) -> None:
    for name, it in found.items():
        said = it.groupdict()
        if name == "version":
            marks.version = said["version"]
        marks.take(name, now, float(said["seconds"]) if said.get("seconds") else None)


def _told(starts: list[_Marks], clock: Clock, version: str | None, restored: str | None) -> EngineStart:
    last = starts[-1]
    if not set(last.at) - {"asleep", "awake"}:
        raise UnclearError("no start of vLLM in it: no line that any known version prints when it starts")
    given, version = version, last.version if last.version in VERSIONS else version or last.version
    if not version:
        raise UnclearError("the log does not say which version of vLLM it is of; --engine-version does")
    if version not in VERSIONS:
        raise UnclearError(f"a log of vLLM {version}; known are {', '.join(VERSIONS)}")
    zero = last.began if last.began is not None else min(last.at.values())
    served, latest = last.at.get("serving", zero) - zero, max(last.at.values()) - zero
    if served < 0 or latest > _LONGEST:
        odd = served if served < 0 else latest
        raise UnclearError(f"a clock was set in the start: one of its lines is {odd:+.0f} s from its first")
    notes = list(_notes(last, clock, given, len(starts) - 1))
    compiled, why = _compile(last, version)
    took = last.took | last.lasted
    return EngineStart(
        version=version,
        clock=clock,
        first=zero,
        serving=last.at.get("serving"),
        spans=spans(last.at, took, zero, kernels_first=version in KERNELS_FIRST, compiles=compiled != "none"),
        compile=compiled,
        why_no_hit=why,
        said={title: last.took[name] for title, name in _SAID.items() if name in last.took},
        restarts=len(starts) - 1,
        sleeps=tuple(last.sleeps),
        wakes=tuple(last.wakes),
        restored=restored,
        failed="failed" in last.at,
        notes=tuple(notes),
    )


def _notes(marks: _Marks, clock: Clock, given: str | None, restarts: int) -> Iterator[str]:
    if marks.version and given and marks.version != given:
        yield f"the log says that it is of vLLM {marks.version}, not {given}"
    if clock == "engine":
        yield "times are the engine's own: whole seconds (kubectl logs --timestamps has better ones)"
    if marks.set_back > _SET_BACK:
        yield f"the clock is set back by {marks.set_back:.1f} s in the start: its phases may be wrong"
    if restarts:
        yield f"the last of {restarts + 1} starts in the log"
    if marks.mixed:
        yield "lines of several containers, and nobody says whose: what came before the engine's banner is not told"
    if "version" not in marks.at:
        yield "the log begins after the start: what came before its first line is not in it"
    said = f", its last error: {marks.error}" if marks.error else ""
    if "failed" in marks.at:
        yield f"the engine failed to start{said}"
    elif "serving" not in marks.at:
        yield f"the start does not end in this log: the server does not listen yet{said}"


def _compile(marks: _Marks, version: str) -> tuple[Compile, str | None]:
    start = Start(version)
    for text in marks.cached:
        start.read(text)
    why = start.why_no_full_hit()
    if why is None:
        return "hit", None
    if start.missed:
        return "miss", why
    if not start.compiles:
        return ("none" if "initialised" in marks.at else "unknown"), None
    return "unknown", why
