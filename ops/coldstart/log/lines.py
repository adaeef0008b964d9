"""Logs as they come: from the engine's output, kubectl, a node's files or a JSON collector; which line says what.

A log may have 100 MB of requests around fifty lines that matter. So bytes are searched for the texts of those lines,
and only the lines that have one are looked at.
"""

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

Clock = Literal["runtime", "engine", "relative"]
"""`runtime`: the container runtime's stamps (`kubectl logs --timestamps`, a node's files, a collector), absolute.
`engine`: the engine's own, whole seconds without a year. `relative`: seconds since the engine's process began."""

CHUNK = 1 << 20
"""Bytes that are searched at once."""

LONGEST = 4 * CHUNK
"""Bytes of a line after which it is cut: progress bars come without a line's end."""

_SAMPLE = 200
"""Lines by which the clock is chosen."""

_ANSI = re.compile(r"\x1b\[[\d;]*m")
_SOURCE = re.compile(r"^\[(pod/[^\]]+)\] ")
"""kubectl logs --prefix: pod and container."""
_RUNTIME = re.compile(r"^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)) ?(?:std(?:out|err) [FP] )?")
"""kubectl logs --timestamps; with stream and tag in the files of a node (CRI)."""
_RELATIVE = re.compile(r"^ *(\d{1,9}\.\d{3}) ")
_ENGINE = re.compile(r"\b(?:DEBUG|INFO|WARNING|ERROR|CRITICAL) (\d\d)-(\d\d) (\d\d):(\d\d):(\d\d) \[")
_FILE = re.compile(r"\[[\w./-]+:\d+\] (?:\[[^\]]*\] )?")
"""Before vLLM's messages: `[core.py:116] `, and in 0.33 perhaps `[tag] `."""
_SPEAKER = re.compile(r"^(?:\([^)]* pid=\d+\) )?(?:[A-Z]+: +)?")
"""Before those of others: `(APIServer pid=675) INFO:     `."""
_DAY = 86400
_PREFIX = 200
"""Characters in which a prefix ends."""
_TEXTS = ("message", "log", "msg")
_TIMES = ("time", "timestamp", "@timestamp", "ts", "asctime")
"""Keys of JSON collectors, of containerd's and Docker's files, and of vLLM's own JSON formatter (0.33)."""


@dataclass(frozen=True)
class Line:
    """A line without what was put before it."""

    text: str
    seconds: float | None = None
    """When, by the clock of the log: since 1970, since a year that nobody knows, or since the process began."""
    source: str | None = None
    """`pod/NAME/CONTAINER`, where kubectl says so."""

    @property
    def pod(self) -> str | None:
        """Whose it is, where kubectl says so."""
        return self.source.split("/")[1] if self.source else None

    @property
    def message(self) -> str:
        """What the program says, without what its logger puts before it."""
        plain = _ANSI.sub("", self.text)
        found = _FILE.search(plain, 0, _PREFIX) or _SPEAKER.match(plain)
        return plain[found.end() :] if found else plain


class Stamps:
    """Reads the times of one log, with the best clock that it has."""

    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        self._month, self._day, self._years = 0, 0, 0
        # days that a leap year has and this one had not; whether its February was the last such
        self._missing, self._short = 0, False

    @classmethod
    def chosen(cls, lines: Iterable[str]) -> "Stamps":
        """Return the reader for a log that begins with these lines. What a library stamps itself is not the log's."""
        found = Counter(clock for clock in map(_clock, lines) if clock)
        return cls(found.most_common(1)[0][0] if found else "engine")

    def read(self, raw: str) -> Line:
        """Return a line with its time, None where it has none."""
        source = _SOURCE.match(raw)
        line, name = (raw[source.end() :], source[1]) if source else (raw, None)
        if self.clock == "relative":
            found = _RELATIVE.match(line)
            return Line(_spoken(line[found.end() :] if found else line), float(found[1]) if found else None, name)
        packed, stamp = _unpacked(line)
        text = _spoken(packed)
        if self.clock == "runtime":
            return Line(text, _epoch(stamp) if stamp else None, name)
        return Line(text, self._engine_seconds(_ANSI.sub("", text)), name)

    def _engine_seconds(self, text: str) -> float | None:
        found = _ENGINE.search(text, 0, _PREFIX)
        if not found:
            return None
        month, day, hour, minute, second = map(int, found.groups())
        try:
            # 2000 has a 29th of February; the year after it begins 366 days later
            seconds = (datetime(2000, month, day, hour, minute, second) - datetime(2000, 1, 1)).total_seconds()
        except ValueError:
            return None
        # no start takes half a year
        if self._month - month > 6:
            self._years += 1
        elif month - self._month > 6 and self._years and self._month:
            # a line of December that comes a moment later than the first of January
            return seconds + _DAY * (366 * (self._years - 1) - self._missing)
        if (month, self._month) == (2, 3):
            # the same at the first of March
            return seconds + _DAY * (366 * self._years - self._missing + self._short)
        if (month, self._month) == (3, 2):
            # nor a day: no 29th came after the 28th
            self._short = self._day == 28
            self._missing += self._short
        self._month, self._day = month, max(day, self._day if month == self._month else 0)
        return seconds + _DAY * (366 * self._years - self._missing)


def _clock(raw: str) -> Clock | None:
    line = _SOURCE.sub("", raw)
    text, stamp = _unpacked(line)
    if stamp and _epoch(stamp) is not None:
        return "runtime"
    if _RELATIVE.match(line):
        return "relative"
    return "engine" if _ENGINE.search(_ANSI.sub("", text)) else None


def _unpacked(line: str) -> tuple[str, str | None]:
    """Return the engine's own text, and the stamp of whoever collected it."""
    if found := _RUNTIME.match(line):
        line = line[found.end() :]
        stamp: str | None = found[1]
    else:
        stamp = None
    if line.startswith("{"):
        try:
            entry = json.loads(line)
        except (ValueError, RecursionError):
            return line, stamp
        text = next((entry[key] for key in _TEXTS if isinstance(entry.get(key), str)), None)
        if text is not None:
            time = next((entry[key] for key in _TIMES if isinstance(entry.get(key), str)), None)
            # a collector's entry may hold one of vLLM's own formatter
            inner, said = _unpacked(text.rstrip("\n"))
            return inner, stamp or time or said
    return line, stamp


def _spoken(text: str) -> str:
    """Return what comes after a progress bar: who speaks while it has no line's end does so in its line."""
    return text.rstrip("\r").rpartition("\r")[2] if "\r" in text else text


def _epoch(stamp: str) -> float | None:
    """Return seconds since 1970. A stamp without a zone is taken for UTC, which containers have."""
    try:
        moment = datetime.fromisoformat(stamp.replace(",", "."))
    except ValueError:
        return None
    if not 1970 < moment.year < 9999:
        return None
    return (moment if moment.tzinfo else datetime.fromisoformat(f"{stamp.replace(',', '.')}+00:00")).timestamp()


def chunks(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """Yield bytes of about CHUNK that end at the end of a line, from pieces of any size."""
    held, size = [], 0
    for piece in pieces:
        held.append(piece)
        size += len(piece)
        if size < CHUNK or (b"\n" not in piece and size < LONGEST):
            continue
        whole = b"".join(held)
        cut = whole.rfind(b"\n") + 1
        if not cut and size < LONGEST:
            continue
        cut = cut or size
        yield whole[:cut]
        held, size = [whole[cut:]], size - cut
    if size:
        yield b"".join(held)


def matching(chunk: bytes, texts: Iterable[bytes]) -> list[tuple[int, int]]:
    """Return where the lines of a chunk begin and end that have any of the texts, in their order."""
    found = set()
    for text in texts:
        at = chunk.find(text)
        while at >= 0:
            end = chunk.find(b"\n", at)
            end = len(chunk) if end < 0 else end
            found.add((chunk.rfind(b"\n", 0, at) + 1, end))
            at = chunk.find(text, end)
    return sorted(found)


def head(chunk: bytes, count: int = _SAMPLE) -> list[str]:
    """Return the first lines of a chunk."""
    return [_decoded(line) for line in chunk.split(b"\n", count)[:count]]


def stamped(chunk: bytes, stamps: Stamps, begin: int, end: int) -> Line:
    """Return a line of a chunk."""
    return stamps.read(_decoded(chunk[begin:end]))


def first_of(chunk: bytes, stamps: Stamps, source: str) -> float | None:
    """Return the time of the first line of a container that has one: others of its pod were there before."""
    prefix = f"[{source}] ".encode()
    at = chunk.find(prefix)
    while at >= 0:
        end = chunk.find(b"\n", at)
        end = len(chunk) if end < 0 else end
        if (seconds := stamped(chunk, stamps, at, end).seconds) is not None:
            return seconds
        at = chunk.find(prefix, end)
    return None


def before(chunk: bytes, stamps: Stamps, begin: int, floor: int) -> float | None:
    """Return the time of the last line that has one between two places of a chunk; None: none of them has."""
    seconds = None
    while seconds is None and begin > floor:
        start = max(chunk.rfind(b"\n", 0, begin - 1) + 1, floor)
        seconds = stamped(chunk, stamps, start, begin - 1).seconds
        begin = start
    return seconds


def _decoded(line: bytes) -> str:
    return line.decode("utf-8", "replace")
