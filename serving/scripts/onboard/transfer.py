"""Many files at once from a source into nothing (to hash them) or into a bucket, through memory alone.

Every file is cut into parts; `streams` threads take the parts in order, each into one of a fixed number of buffers. A
buffer is free again when its part is uploaded and hashed; hashing goes in order, so a part may wait for the one before
it, which is always further along. Nothing touches the disk: the most that is held is `(streams + SPARE) * part` bytes.
"""

import hashlib
import queue
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Protocol

from bucket import MOST_PARTS, Part
from web import RefusedError, StoppedError, UnclearError, Web

MIB = 1024**2
STREAMS, PART_MIB = 16, 16
"""What S3 and the hub are asked for unless somebody says otherwise: connections, and MiB of a part."""

SPARE = 4
"""Buffers beyond the streams: parts that wait to be hashed while every stream fills another."""

REPORT = 10.0
"""Seconds between two lines of progress."""

Read = Callable[[int, memoryview], None]


class Hasher(Protocol):
    """What hashlib makes."""

    def update(self, data: bytes | memoryview, /) -> None:
        """Take more bytes."""

    def hexdigest(self) -> str:
        """Return the hash of all bytes so far."""


class Sink(Protocol):
    """Where one file goes. `put` is used when it has one part, the others when it has more."""

    def put(self, body: memoryview, sha256: str) -> None:
        """Store the whole file."""

    def start(self) -> str:
        """Begin an upload in parts."""

    def part(self, upload: str, number: int, body: memoryview) -> Part:
        """Store one part."""

    def finish(self, upload: str, parts: Iterator[Part]) -> None:
        """Make the parts one object."""

    def abort(self, upload: str) -> None:
        """Drop the parts."""


@dataclass
class File:
    """A file on its way."""

    name: str
    size: int
    expected: str
    hasher: Hasher
    """Of what `expected` is the hash."""
    read: Read
    sink: Sink | None = None
    sha256: str = ""
    """Known when the file has arrived."""
    upload: str = ""
    lock: threading.Lock = field(default_factory=threading.Lock)
    ready: dict[int, "_Filled"] = field(default_factory=dict)
    parts: dict[int, Part] = field(default_factory=dict)
    hashed: int = 0
    busy: bool = False


@dataclass(frozen=True)
class _Filled:
    memory: bytearray
    view: memoryview


class Transfer:
    """One run over a list of files."""

    def __init__(self, web: Web, files: Sequence[File], *, streams: int, part: int, say: Callable[[str], None]) -> None:
        if too_long := [file.name for file in files if file.size > part * MOST_PARTS]:
            raise RefusedError(f"{too_long[0]}: more than {MOST_PARTS} parts; choose a larger --part-mib")
        self._web, self._part, self._streams, self._say = web, part, streams, say
        self._files = files
        self._total = sum(file.size for file in files)
        self._buffers: queue.SimpleQueue[bytearray | None] = queue.SimpleQueue()
        self._jobs = ((file, number) for file in files for number in range(self._count(file)))
        self._lock, self._order = threading.Lock(), threading.Lock()
        self._done, self._whole, self._started = 0, 0, time.monotonic()
        self._told = self._started
        self._failures: list[Exception] = []

    def run(self) -> None:
        """Move every file.

        Raises:
            RefusedError: the content is not what the hub promised, or a side refuses.
            UnclearError: a side gave no usable answer.
        """
        largest = max((min(self._part, file.size) for file in self._files), default=0)
        for _ in range(self._streams + SPARE):
            self._buffers.put(bytearray(largest))
        threads = [threading.Thread(target=self._work, daemon=True) for _ in range(self._streams)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if self._failures:
            self._abort()
            raise self._failures[0]

    def _count(self, file: File) -> int:
        return max(1, -(-file.size // self._part))

    def _work(self) -> None:
        try:
            while job := self._take():
                self._move(*job)
        except StoppedError:
            pass
        except Exception as error:  # told by the thread that waits for all
            with self._lock:
                self._failures.append(error)
            self._web.stop.set()
            for _ in range(self._streams):
                self._buffers.put(None)

    def _take(self) -> tuple[File, int, bytearray] | None:
        """Return the next part and a buffer for it; the order of parts is the order of buffers, or two could starve."""
        with self._order:
            job = next(self._jobs, None)
            if job is None:
                return None
            memory = self._buffers.get()
        return None if memory is None or self._web.stop.is_set() else (*job, memory)

    def _move(self, file: File, number: int, memory: bytearray) -> None:
        start = number * self._part
        view = memoryview(memory)[: min(self._part, file.size - start)]
        file.read(start, view)
        if file.sink and self._count(file) > 1:
            with file.lock:
                file.upload = file.upload or file.sink.start()
            stored = file.sink.part(file.upload, number + 1, view)
            with file.lock:
                file.parts[number] = stored
        with file.lock:
            file.ready[number] = _Filled(memory, view)
            if file.busy:
                return
            file.busy = True
        self._hash(file)

    def _hash(self, file: File) -> None:
        """Hash what is ready, in order. Whoever comes meanwhile leaves its part here and goes on."""
        while True:
            with file.lock:
                filled = file.ready.pop(file.hashed, None)
                if filled is None:
                    file.busy = False
                    return
                file.hashed += 1
            file.hasher.update(filled.view)
            if file.hashed == self._count(file):
                self._arrive(file, filled.view)
            count = len(filled.view)
            filled.view.release()
            self._buffers.put(filled.memory)
            self._tell(count)

    def _arrive(self, file: File, last: memoryview) -> None:
        """Check the whole file, and only then make it an object."""
        digest = file.hasher.hexdigest()
        if digest != file.expected:
            raise RefusedError(f"{file.name}: hashes to {digest}, expected {file.expected}")
        # a small file's expected hash is git's, not its SHA-256
        sha256 = digest if len(digest) == 64 else hashlib.sha256(last).hexdigest()
        if file.sink and self._count(file) == 1:
            file.sink.put(last, sha256)
        elif file.sink:
            file.sink.finish(file.upload, (file.parts[number] for number in range(self._count(file))))
        file.sha256 = sha256
        with self._lock:
            self._whole += 1

    def _tell(self, count: int) -> None:
        with self._lock:
            self._done += count
            now = time.monotonic()
            if now - self._told < REPORT:
                return
            self._told = now
        rate = self._done / MIB / (now - self._started)
        done, total = self._done / 1024**3, self._total / 1024**3
        self._say(f"{self._whole}/{len(self._files)} files, {done:.1f} of {total:.1f} GiB, {rate:.0f} MiB/s")

    def _abort(self) -> None:
        """Drop what this run began. What stays behind is dropped by the next run, or by the bucket's lifecycle."""
        self._web.stop.clear()
        self._web.patience = min(self._web.patience, 5.0)
        for file in self._files:
            if file.sink and file.upload and not file.sha256:
                with suppress(RefusedError, UnclearError):
                    file.sink.abort(file.upload)
