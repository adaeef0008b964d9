"""What the agent asks of the engine on loopback, each time in a new connection, and what the answers mean."""

import asyncio
import json
import math
import re

from terms import Outcome, Step

PATHS: dict[Step, tuple[str, str]] = {
    "health": ("GET", "/health"),
    "count": ("GET", "/metrics"),
    "ask": ("GET", "/is_sleeping"),
    # level 2 does not exist here: after it the engine answers 200 with garbage (gpu.md 9). mode=wait: the engine's
    # default cuts what runs so that it looks complete.
    "sleep": ("POST", "/sleep?level=1&mode=wait"),
    "wake": ("POST", "/wake_up"),
}

PATIENCE: dict[Step, float] = {"health": 5.0, "count": 10.0, "ask": 10.0, "sleep": 600.0, "wake": 600.0}
"""Seconds for a whole answer. The first sleep pins 1.7 GiB/s (gpu.md 9), so that of 400 GiB takes minutes."""

_MOST = 16 * 1024 * 1024
_OK, _NOT_FOUND, _UNAVAILABLE = 200, 404, 503

_GAUGE = re.compile(r"^(vllm:num_requests_(?:running|waiting)|process_start_time_seconds)(?:\{[^}]*\})? (\S+)", re.M)
_SLEEPS = re.compile(r'^vllm:engine_sleep_state\{[^}]*sleep_state="(?!awake")[^}]*\} 1(?:\.0)?$', re.M)


class EngineClient:
    """The engine's HTTP server."""

    def __init__(self, port: int, patience: dict[Step, float]) -> None:
        """`patience`: seconds, where they differ from `PATIENCE`."""
        self._port = port
        self._patience = {**PATIENCE, **patience}

    async def perform(self, step: Step) -> Outcome:
        """Return what came of a step. Never raises but when it is cancelled."""
        method, path = PATHS[step]
        try:
            status, body = await asyncio.wait_for(self._exchange(method, path), self._patience[step])
            return meaning(step, status, body)
        except ConnectionRefusedError:
            # before it is ready, and from SIGTERM on (gpu.md 0.7)
            return Outcome(ok=False, gone=True)
        except (OSError, EOFError, asyncio.TimeoutError):
            return Outcome(ok=False, silent=True)
        except Exception:
            # whatever garbage does to those that read it: with the agent all that waits would be lost
            return Outcome(ok=False)

    async def _exchange(self, method: str, path: str) -> tuple[int, str]:
        reader, writer = await asyncio.open_connection("127.0.0.1", self._port, limit=_MOST)
        try:
            # 1.0: the end of the answer is the end of the connection. Uvicorn may send chunks all the same
            writer.write(f"{method} {path} HTTP/1.0\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n".encode())
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
            length = re.search(r"(?im)^content-length: *(\d+)", head)
            body = await received(reader, int(length[1]) if length else None)
            if re.search(r"(?im)^transfer-encoding: *chunked", head):
                body = dechunked(body)
            return int(head.split(maxsplit=2)[1]), body.decode(errors="replace")
        finally:
            writer.close()


async def received(reader: asyncio.StreamReader, length: int | None) -> bytes:
    """Return a body of `length` bytes; None: all that comes before the end of the connection.

    Raises:
        EOFError: it ends before.
        ValueError: it is larger than any answer that is meant.
    """
    if length is not None:
        if length > _MOST:
            raise ValueError("too large")
        return await reader.readexactly(length)
    body = bytearray()
    while piece := await reader.read(_MOST):
        body += piece
        if len(body) > _MOST:
            raise ValueError("too large")
    return bytes(body)


def dechunked(raw: bytes) -> bytes:
    """Return the body of chunks.

    Raises:
        ValueError: they are none.
    """
    body, place = bytearray(), 0
    while size := int(raw[place : (end := raw.index(b"\r\n", place))].partition(b";")[0], 16):
        if size < 0:
            # it would go back to where it has been, for ever
            raise ValueError("a chunk of less than nothing")
        body += raw[end + 2 : end + 2 + size]
        place = end + 2 + size + 2
    return bytes(body)


def meaning(step: Step, status: int, body: str) -> Outcome:
    """Return what an answer says.

    Raises:
        Exception: it is garbage. What raises depends on what the garbage is.
    """
    if step == "health":
        return Outcome(ok=status == _OK, gone=status == _UNAVAILABLE)
    if status != _OK:
        return Outcome(ok=False, absent=step == "ask" and status == _NOT_FOUND)
    if step == "count":
        return counted(body)
    if step == "ask":
        return asleep(body)
    return Outcome(ok=True)


def counted(metrics: str) -> Outcome:
    """Return how many requests run and wait, over all engine processes, and which engine that is.

    Raises:
        ValueError: a gauge is no number of requests.
    """
    found = [(name, value) for name, value in _GAUGE.findall(metrics)]
    requests = [float(value) for name, value in found if name.startswith("vllm:")]
    if not all(0 <= value < math.inf for value in requests):
        raise ValueError("no number of requests")
    if not requests:
        return Outcome(ok=False, absent=True)
    engine = next((value for name, value in found if not name.startswith("vllm:")), "")
    return Outcome(ok=True, value=sum(requests), engine=engine, sleeping=bool(_SLEEPS.search(metrics)))


def asleep(body: str) -> Outcome:
    """Return 1 when it sleeps."""
    try:
        return Outcome(ok=True, value=float(json.loads(body)["is_sleeping"] is True))
    except (ValueError, KeyError, TypeError):
        return Outcome(ok=False)
