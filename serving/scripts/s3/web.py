"""HTTP with nothing but the standard library: kept connections, ranges into memory, patience, one line per failure.

Text of a failure never holds a header, a query or a body: tokens travel in the first, signatures in the second.
"""

import email.utils
import http.client
import random
import socket
import ssl
import threading
import time
import urllib.parse
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import TypeVar

from endpoint import PASSING, trusted

TIMEOUT = 60
"""Seconds that a peer may be silent."""

BODY_LIMIT = 64 * 1024**2
"""Bytes of an answer that is no range: listings and small files."""

LONGEST_PAUSE = 30.0
"""Seconds between two attempts, unless the peer names another pause."""

OK, PARTIAL, TOO_MANY = 200, 206, 429

T = TypeVar("T")


class RefusedError(Exception):
    """A check failed, and it will fail again. Exit code 1."""


class UnclearError(Exception):
    """The outside gave no usable answer: nothing is known. Exit code 3."""


class LaterError(Exception):
    """One attempt failed; another may not."""

    def __init__(self, reason: str, pause: float | None = None) -> None:
        super().__init__(reason)
        self.pause = pause


class StoppedError(Exception):
    """Another thread has failed: its reason is the one to tell."""


@dataclass(frozen=True)
class Reply:
    """An answer. Of a range that went into memory only the length is kept."""

    status: int
    headers: http.client.HTTPMessage
    body: bytes
    stored: int = 0

    def header(self, name: str) -> str:
        """Return a header's value, empty when it is not there."""
        return str(self.headers.get(name, ""))


class Web:
    """Connections, one a thread and peer, and how long a failing peer is borne."""

    def __init__(self, patience: float, tls: ssl.SSLContext | None = None) -> None:
        self.patience = patience
        self.stop = threading.Event()
        self._local = threading.local()
        self._tls = tls or trusted()

    def exchange(
        self,
        method: str,
        url: str,
        headers: Mapping[str, str],
        body: bytes | memoryview = b"",
        into: memoryview | None = None,
    ) -> Reply:
        """Send one request and read its answer. Redirects are the caller's: they may cross to another host.

        Args:
            method: of HTTP.
            url: already percent-encoded.
            headers: all of them; Content-Length and Host are added.
            body: what is sent.
            into: where the body of a success goes; its length is what is expected.

        Raises:
            LaterError: no whole answer came.
            UnclearError: a header or the host's name cannot be sent.
        """
        parts = urllib.parse.urlsplit(url)
        target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        for fresh in (False, True):
            connection, used = self._connection(parts, fresh=fresh)
            try:
                with suppress(BrokenPipeError):  # a peer that refuses may answer before it has read everything
                    connection.request(method, target, body=body or None, headers=dict(headers))
                answer = connection.getresponse()
            except (OSError, http.client.HTTPException) as error:
                self._drop(parts)
                # a kept connection may have been closed by the peer since: that is no failure
                if used and isinstance(error, (ConnectionError, http.client.RemoteDisconnected)):
                    continue
                raise LaterError(f"{parts.netloc}: {_spoken(error)}") from None
            except ValueError:
                # its text is the header's value
                self._drop(parts)
                raise UnclearError(f"{parts.netloc}: the request cannot be sent as HTTP") from None
            try:
                return self._read(parts, answer, into, head=method == "HEAD")
            except (OSError, http.client.HTTPException) as error:
                self._drop(parts)
                raise LaterError(f"{parts.netloc}: {_spoken(error)}") from None
        raise LaterError(f"{parts.netloc}: the connection was closed")

    def _read(
        self, parts: urllib.parse.SplitResult, answer: http.client.HTTPResponse, into: memoryview | None, *, head: bool
    ) -> Reply:
        stored, body, length = 0, b"", answer.length
        if into is not None and answer.status in (OK, PARTIAL):
            while stored < len(into) and (count := answer.readinto(into[stored:])):
                stored += count
            wanted = len(into)
        elif not head:
            body = answer.read(BODY_LIMIT)
            # with a limit, http.client takes an early end for the end
            stored, wanted = len(body), min(length or 0, BODY_LIMIT)
        else:
            wanted = 0
        if stored < wanted:
            self._drop(parts)
            raise LaterError(f"{parts.netloc}: the answer ended after {stored} of {wanted} bytes")
        if not answer.isclosed() and answer.read(1):
            self._drop(parts)
            raise RefusedError(f"{parts.netloc}: the answer is longer than {stored} bytes")
        if answer.will_close:
            self._drop(parts)
        return Reply(answer.status, answer.headers, body, stored)

    def patiently(self, attempt: Callable[[], T]) -> T:
        """Return what an attempt returns; repeat it while it asks for that.

        Raises:
            UnclearError: it still failed when the patience was over.
            StoppedError: another thread has failed meanwhile.
        """
        end = time.monotonic() + self.patience
        backoff = 0.25
        while True:
            if self.stop.is_set():
                raise StoppedError
            try:
                return attempt()
            except LaterError as error:
                pause = error.pause if error.pause is not None else backoff * random.uniform(0.5, 1)  # noqa: S311 - jitter
                backoff = min(backoff * 2, LONGEST_PAUSE)
                if time.monotonic() + pause > end:
                    raise UnclearError(f"{error} (given up after {self.patience:.0f} s of patience)") from None
                self.stop.wait(pause)

    def _connection(self, parts: urllib.parse.SplitResult, *, fresh: bool) -> tuple[http.client.HTTPConnection, bool]:
        kept: dict[str, http.client.HTTPConnection] = self._local.__dict__.setdefault("kept", {})
        peer = f"{parts.scheme}://{parts.netloc}"
        if fresh:
            self._drop(parts)
        if peer in kept:
            return kept[peer], True
        host, port = parts.hostname or "", parts.port
        connection = (
            http.client.HTTPSConnection(host, port, timeout=TIMEOUT, context=self._tls)
            if parts.scheme == "https"
            else http.client.HTTPConnection(host, port, timeout=TIMEOUT)
        )
        kept[peer] = connection
        return connection, False

    def _drop(self, parts: urllib.parse.SplitResult) -> None:
        kept: dict[str, http.client.HTTPConnection] = self._local.__dict__.setdefault("kept", {})
        if connection := kept.pop(f"{parts.scheme}://{parts.netloc}", None):
            connection.close()


def retried(reply: Reply, who: str) -> None:
    """Ask for another attempt when the status says that one may succeed.

    Raises:
        LaterError: 429 or a passing fault of the server, with the pause that it names.
    """
    if reply.status in PASSING:
        pause = _pause(reply.header("Retry-After"))
        wanted = f", asks to wait {pause:.0f} s" if pause is not None else ""
        what = "429, too many requests" if reply.status == TOO_MANY else f"{reply.status}"
        raise LaterError(f"{who}: {what}{wanted}", pause)


def _pause(value: str) -> float | None:
    """Return the seconds of a Retry-After: a number, or a date."""
    if value.strip().isdigit():
        return float(value)
    try:
        return max(0.0, email.utils.parsedate_to_datetime(value).timestamp() - time.time())
    except (TypeError, ValueError):
        return None


def _spoken(error: Exception) -> str:
    """Return one line without anything that was sent."""
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"its certificate is not trusted: {error.verify_message}"
    if isinstance(error, socket.gaierror):
        return "its name does not resolve"
    if isinstance(error, OSError) and error.strerror:
        return error.strerror.lower()
    return type(error).__name__
