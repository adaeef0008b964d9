"""Objects into files, in ranges, by several connections at once.

Each thread owns one buffer, so the memory for data is `STREAMS * PART` bytes whatever the size of the model. Ranges are
taken in order: when a process dies, what it loses is the few files that it had begun last.
"""

import os
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from model_folder import PART as SUFFIX
from web import StoppedError, Web

PART = 8 * 1024**2
STREAMS = 24
"""Connections. S3 gives some 90 MB/s to each, and one Python process takes in about 1 GB/s of all of them."""

REPORT = 10.0
"""Seconds between two lines of progress."""

GIB = 1024**3


@dataclass
class Arriving:
    """A file on its way."""

    read: Callable[[int, memoryview], None]
    """Fills a buffer with the object's bytes from an offset on."""
    size: int
    to: Path
    """Where it is once it is whole."""
    lock: threading.Lock = field(default_factory=threading.Lock)
    fd: int = -1
    missing: int = 0
    """Bytes, once it is open."""

    @property
    def part(self) -> Path:
        """Where it is until then."""
        return self.to.with_name(f"{self.to.name}{SUFFIX}")

    def write(self, start: int, content: memoryview) -> None:
        """Store a range; with the last one the file is whole.

        Raises:
            OSError: the disk takes no more.
        """
        with self.lock:
            if self.fd < 0:
                self.fd = os.open(self.part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o644)
                self.missing = self.size
        done = 0
        while done < len(content):
            done += os.pwrite(self.fd, content[done:], start + done)
        with self.lock:
            self.missing -= len(content)
            if not self.missing:
                os.close(self.fd)
                self.part.rename(self.to)


class Download:
    """One run over a list of files."""

    def __init__(
        self, web: Web, files: Sequence[Arriving], say: Callable[[str], None], *, streams: int = STREAMS
    ) -> None:
        self._web, self._say, self._streams = web, say, streams
        self._total = sum(file.size for file in files)
        self._jobs = _ranges(files)
        self._lock = threading.Lock()
        self._done, self._told = 0, time.monotonic()
        self._failures: list[Exception] = []

    def run(self) -> None:
        """Fetch every file.

        Raises:
            RefusedError: S3 refuses.
            UnclearError: it gave no usable answer, or an object is another one by now.
            OSError: the disk takes no more.
        """
        threads = [threading.Thread(target=self._work, daemon=True) for _ in range(self._streams)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if self._failures:
            raise self._failures[0]

    def _work(self) -> None:
        memory = memoryview(bytearray(PART))
        try:
            while (job := self._take()) and not self._web.stop.is_set():
                file, start, length = job
                file.read(start, memory[:length])
                file.write(start, memory[:length])
                self._tell(length)
        except StoppedError:
            pass
        except Exception as error:  # told by the thread that waits for all
            with self._lock:
                self._failures.append(error)
            self._web.stop.set()

    def _take(self) -> tuple[Arriving, int, int] | None:
        with self._lock:
            return next(self._jobs, None)

    def _tell(self, count: int) -> None:
        with self._lock:
            self._done += count
            if time.monotonic() - self._told < REPORT:
                return
            self._told = time.monotonic()
        self._say(f"{self._done / GIB:.1f} of {self._total / GIB:.1f} GiB")


def _ranges(files: Sequence[Arriving]) -> Iterator[tuple[Arriving, int, int]]:
    """Yield file, offset and length of every range; an empty file has one."""
    for file in files:
        for start in range(0, max(1, file.size), PART):
            yield file, start, min(PART, file.size - start)
