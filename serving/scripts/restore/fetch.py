"""One object as a stream of blocks in order, fetched by several connections at once, hashed beside its consumer."""

import hashlib
import math
import queue
import threading
from collections.abc import Callable

from outcome import CorruptError
from store import Connection, Store

BLOCK = 2 * 1024 * 1024
"""Bytes of a range. Smaller ones cost requests, larger ones memory, and CPU: each page of a new buffer is a fault."""

SPARE = 8
"""Blocks that are being extracted or hashed while every connection fills another."""

MOST = 48
"""Connections: with the spare blocks 112 MiB of buffers."""

_LEAST = 6
_WANTED = 1e9
"""Bytes per second: what this program can do at best (0.45 CPU seconds for 218 MB, in several threads)."""

_PER_CONNECTION = 90e6
"""Bytes per second that S3 gives to one request."""


def connections(first_byte: float) -> int:
    """Return how many requests must be under way for the wanted rate (Little's law).

    More of them only cost memory and switches: with no latency 24 were a quarter slower than 8.
    """
    return max(_LEAST, min(MOST, math.ceil(_WANTED / BLOCK * (first_byte + BLOCK / _PER_CONNECTION))))


class _Block:
    """A buffer that goes round: filled by a connection, extracted, hashed, filled again."""

    def __init__(self) -> None:
        self.memory = memoryview(bytearray(BLOCK))
        self.view = self.memory[:0]
        self.done = threading.Event()
        self.error: Exception | None = None


class Fetch:
    """Downloads one object; `run` hands its blocks to a consumer and checks the hash of the whole."""

    def __init__(self, store: Store, key: str, size: int, sha256: str) -> None:
        self._store = store
        self._key = key
        self._size = size
        self._sha256 = sha256
        self._count = -(-size // BLOCK)
        self._lock = threading.Lock()
        self._next = 0
        self._free: queue.SimpleQueue[_Block | None] = queue.SimpleQueue()
        self._ordered: queue.SimpleQueue[_Block] = queue.SimpleQueue()
        self._to_hash: queue.SimpleQueue[_Block | None] = queue.SimpleQueue()
        self._hash = hashlib.sha256()

    def run(self, consume: Callable[[memoryview], None]) -> None:
        """Fetch all of it. Blocks are multiples of 512 bytes but for the last; `consume` must not keep them.

        Raises:
            RestoreError: what the connections met, or CorruptError when the hash is another.
        """
        count = min(connections(self._store.first_byte), self._count)
        for _ in range(min(count + SPARE, self._count)):
            self._free.put(_Block())
        hasher = threading.Thread(target=self._hash_all, daemon=True)
        workers = [threading.Thread(target=self._work, daemon=True) for _ in range(count)]
        for thread in (hasher, *workers):
            thread.start()
        try:
            for _ in range(self._count):
                block = self._ordered.get()
                block.done.wait()
                if block.error:
                    raise block.error
                consume(block.view)
                self._to_hash.put(block)
        finally:
            with self._lock:
                self._next = self._count
            for _ in workers:
                self._free.put(None)
            self._to_hash.put(None)
        hasher.join()
        if self._hash.hexdigest() != self._sha256:
            raise CorruptError(f"archive has sha256 {self._hash.hexdigest()}")

    def _work(self) -> None:
        with Connection(self._store) as connection:
            while claimed := self._claim():
                block, first = claimed
                try:
                    connection.read_range(self._key, first, block.view, self._size)
                except Exception as error:  # raised again by `run`, which waits for this block
                    block.error = error
                block.done.set()

    def _claim(self) -> tuple[_Block, int] | None:
        """Take a free buffer and the next range: never the other way round, or the first range could lack a buffer."""
        block = self._free.get()
        if block is None:
            return None
        with self._lock:
            if self._next == self._count:
                return None
            first = self._next * BLOCK
            self._next += 1
            block.done.clear()
            block.view = block.memory[: min(BLOCK, self._size - first)]
            self._ordered.put(block)
        return block, first

    def _hash_all(self) -> None:
        while block := self._to_hash.get():
            self._hash.update(block.view)
            self._free.put(block)
