"""Logs as they come: from the engine's output, kubectl, a node's files or a JSON collector; which line says what.

A log may have 100 MB of requests around fifty lines that matter. So bytes are searched for the texts of those lines,
and only the lines that have one are looked at.
"""

import json
import re
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
_POD = re.compile(r"^\[pod/[^\]]+\] ")
"""kubectl logs --prefix."""
_RUNTIME = re.compile(r"^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)) ?(?:std(?:out|err) [FP] )?")
"""kubectl logs --timestamps; with stream and tag in the files of a node (CRI)."""
_RELATIVE = re.compile(r"^ *(\d+\.\d{3}) ")
_ENGINE = re.compile(r"\b(?:DEBUG|INFO|WARNING|ERROR|CRITICAL) (\d\d)-(\d\d) (\d\d):(\d\d):(\d\d) \[")
_FILE = re.compile(r"\[[\w./-]+:\d+\] (?:\[[^\]]*\] )?")
"""Before vLLM's messages: `[core.py:116] `, and in 0.33 perhaps `[tag] `."""
_SPEAKER = re.compile(r"^(?:\([^)]* pid=\d+\) )?(?:[A-Z]+: +)?")
"""Before those of others: `(APIServer pid=675) INFO:     `."""
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
        self._month, self._years = 0, 0

    @classmethod
    def chosen(cls, lines: Iterable[str]) -> "Stamps":
        """Return the reader for a log that begins with these lines."""
        found = [clock for clock in map(_clock, lines) if clock]
        for clock in ("runtime", "relative"):
            if clock in found:
                return cls(clock)
        return cls("engine")

    def read(self, raw: str) -> Line:
        """Return a line with its time, None where it has none."""
        line = _POD.sub("", raw)
        text, stamp = _unpacked(line)
        if self.clock == "runtime":
            return Line(text, _epoch(stamp) if stamp else None)
        if self.clock == "relative":
            found = _RELATIVE.match(line)
            return Line(line[found.end() :] if found else line, float(found[1]) if found else None)
        return Line(text, self._engine_seconds(_ANSI.sub("", text)))

    def _engine_seconds(self, text: str) -> float | None:
        found = _ENGINE.search(text)
        if not found:
            return None
        month, day, hour, minute, second = map(int, found.groups())
        # no start takes half a year
        if self._month - month > 6:
            self._years += 1
        elif month - self._month > 6 and self._years and self._month:
            # a line of December that comes a moment later than the first of January
            return self._since(self._years - 1, month, day, hour, minute, second)
        self._month = month
        return self._since(self._years, month, day, hour, minute, second)

    @staticmethod
    def _since(years: int, month: int, day: int, hour: int, minute: int, second: int) -> float | None:
        # 2000 has a 29th of February; the year after it begins 366 days later
        try:
            moment = datetime(2000, month, day, hour, minute, second)
        except ValueError:
            return None
        return (moment - datetime(2000, 1, 1)).total_seconds() + years * 366 * 86400


def _clock(raw: str) -> Clock | None:
    line = _POD.sub("", raw)
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
        except ValueError:
            return line, stamp
        text = next((entry[key] for key in _TEXTS if isinstance(entry.get(key), str)), None)
        if text is not None:
            time = next((entry[key] for key in _TIMES if isinstance(entry.get(key), str)), None)
            return text.rstrip("\n"), stamp or time
    return line, stamp


def _epoch(stamp: str) -> float | None:
    """Return seconds since 1970. A stamp without a zone is taken for UTC, which containers have."""
    try:
        moment = datetime.fromisoformat(stamp.replace(",", "."))
    except ValueError:
        return None
    return (moment if moment.tzinfo else datetime.fromisoformat(f"{stamp.replace(',', '.')}+00:00")).timestamp()


def chunks(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """Yield bytes of about CHUNK that end at the end of a line, from pieces of any size."""
    held, size = [], 0
    for piece in pieces:
        held.append(piece)
        size += len(piece)
        if size < CHUNK:
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
    return [line.decode("utf-8", "replace") for line in chunk.split(b"\n", count)[:count]]


def stamped(chunk: bytes, stamps: Stamps, begin: int, end: int) -> Line:
    """Return a line of a chunk; without a time of its own, with that of a line before it."""
    line = stamps.read(chunk[begin:end].decode("utf-8", "replace"))
    seconds = line.seconds
    for _ in range(_SAMPLE):
        if seconds is not None or begin == 0:
            break
        before = chunk.rfind(b"\n", 0, begin - 1) + 1
        seconds = stamps.read(chunk[before : begin - 1].decode("utf-8", "replace")).seconds
        begin = before
    return Line(line.text, seconds)
