"""A small HTTP/1.1 server for asyncio: requests without bodies, connections that stay open.

The standard library has none that waits for something in the middle of a request without a thread for each, and a
request may be held here for as long as an engine takes to wake.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from http import HTTPStatus

_MOST = 16 * 1024


@dataclass(frozen=True)
class Request:
    """What was asked."""

    method: str
    path: str
    """Without the query."""
    query: str
    headers: Mapping[str, str]
    """By lower-case name."""


@dataclass(frozen=True)
class Response:
    """What is answered."""

    status: int
    body: str = ""
    kind: str = "text/plain; charset=utf-8"
    headers: Mapping[str, str] = field(default_factory=dict)

    def encoded(self) -> bytes:
        """Return it as it goes over the wire."""
        body = self.body.encode()
        lines = [
            f"HTTP/1.1 {self.status} {HTTPStatus(self.status).phrase}",
            f"Content-Type: {self.kind}",
            f"Content-Length: {len(body)}",
            *(f"{name}: {value}" for name, value in self.headers.items()),
        ]
        return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


Handler = Callable[[Request], Response | Awaitable[Response]]


class Connection(asyncio.Protocol):
    """One connection. A request is answered before the next one of it is read."""

    def __init__(self, handler: Handler) -> None:
        self._handler = handler
        self._received = b""
        self._answering: asyncio.Future[Response] | None = None
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep it."""
        assert isinstance(transport, asyncio.Transport)  # noqa: S101 - for the type checker
        self._transport = transport

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 - asyncio's
        """Nobody waits for the answer any more."""
        self._transport = None
        if self._answering:
            self._answering.cancel()

    def data_received(self, data: bytes) -> None:
        """Answer what is complete."""
        self._received += data
        self._next()

    def _next(self) -> None:
        while self._answering is None and self._transport is not None:
            head, end, rest = self._received.partition(b"\r\n\r\n")
            if not end:
                if len(self._received) > _MOST:
                    self._transport.close()
                return
            self._received = rest
            request = parsed(head.decode("latin-1"))
            if request is None:
                self._transport.write(Response(400).encoded())
                self._transport.close()
                return
            answer = self._handler(request)
            if isinstance(answer, Response):
                self._transport.write(answer.encoded())
            else:
                self._answering = asyncio.ensure_future(answer)
                self._answering.add_done_callback(self._answered)

    def _answered(self, answer: "asyncio.Future[Response]") -> None:
        self._answering = None
        if self._transport is not None:
            failed = answer.cancelled() or answer.exception() is not None
            self._transport.write((Response(500) if failed else answer.result()).encoded())
            self._next()


def parsed(head: str) -> Request | None:
    """Return the request of a head; None when it is none, or has a body."""
    line, *lines = head.split("\r\n")
    words = line.split(" ")
    if len(words) != 3 or not words[2].startswith("HTTP/1."):
        return None
    headers = {name.strip().lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    if headers.get("content-length", "0") != "0" or "transfer-encoding" in headers:
        return None
    path, _, query = words[1].partition("?")
    return Request(method=words[0], path=path, query=query, headers=headers)


async def listen(handler: Handler, port: int) -> asyncio.Server:
    """Serve on loopback.

    Raises:
        OSError: the port is taken.
    """
    loop = asyncio.get_running_loop()
    return await loop.create_server(lambda: Connection(handler), "127.0.0.1", port, backlog=1024)
