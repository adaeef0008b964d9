"""A small S3 on loopback, with faults: enough of it for what reads the start-up cache.

Written on sockets, because http.server's parsing would cost more CPU than the programs that are measured against it.
Tests run it in a thread (`S3`), the benchmark in a process of its own (`python s3.py <folder> <latency>`).
"""

import contextlib
import email.utils
import hashlib
import os
import socket
import struct
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import parse_qsl, quote, unquote, urlsplit
from xml.sax.saxutils import escape

PAGE = 1000
_DATE = email.utils.formatdate(usegmt=True)


@dataclass(frozen=True)
class Request:
    method: str
    target: str
    """Path and query, as sent."""
    bucket: str
    key: str
    query: dict[str, str]
    headers: dict[str, str]
    """Names in lower case."""

    @classmethod
    def of(cls, method: str, target: str, headers: dict[str, str]) -> "Request":
        url = urlsplit(target)
        bucket, _, key = unquote(url.path)[1:].partition("/")
        query = dict(parse_qsl(url.query, keep_blank_values=True))
        return cls(method, target, bucket, key, query, {name.lower(): value for name, value in headers.items()})

    @property
    def lists(self) -> bool:
        return not self.key


@dataclass(frozen=True)
class Fault:
    """What happens instead of the right answer."""

    status: int = 0
    code: str = ""
    headers: dict[str, str] = field(default_factory=dict)
    reset: bool = False
    cut: int = -1
    """Bytes of the body after which the connection closes."""
    rate: float = 0
    """Bytes per second of the body."""


Faults = Callable[[Request], Fault | None]


class S3:
    """Serves a folder of files as the bucket's keys; any bucket name will do."""

    def __init__(self, folder: Path, *, latency: float = 0.0, faults: Faults = lambda _: None) -> None:
        self.folder, self.latency, self.faults = folder, latency, faults
        self.requests: list[Request] = []
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=512)
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        self._etags: dict[str, str] = {}
        self._open = True
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        self._open = False
        self._listener.close()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                connection, _ = self._listener.accept()
                connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        pending = b""
        with connection, contextlib.suppress(OSError):
            while self._open:
                while b"\r\n\r\n" not in pending:
                    received = connection.recv(65536)
                    if not received:
                        return
                    pending += received
                head, _, pending = pending.partition(b"\r\n\r\n")
                lines = head.decode("latin-1").split("\r\n")
                method, target, _ = lines[0].split(" ", 2)
                fields = (line.partition(": ") for line in lines[1:])
                request = Request.of(method, target, {name: value for name, _, value in fields})
                self.requests.append(request)
                if self.latency:
                    time.sleep(self.latency)
                if not self._answer(connection, request):
                    return

    def _answer(self, connection: socket.socket, request: Request) -> bool:
        fault = self.faults(request) or Fault()
        if fault.reset:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            return False
        if fault.status:
            body = f"<Error><Code>{fault.code}</Code></Error>".encode()
            connection.sendall(_head(fault.status, len(body), **fault.headers) + body)
            return True
        if request.lists:
            body = self._list(request.query).encode()
            connection.sendall(_head(200, len(body), **{"content-type": "application/xml"}) + body)
            return True
        path = self.folder / request.key
        if not path.is_file():
            body = b"<Error><Code>NoSuchKey</Code></Error>"
            connection.sendall(_head(404, len(body)) + body)
            return True
        return self._object(connection, request, path, fault)

    def _object(self, connection: socket.socket, request: Request, path: Path, fault: Fault) -> bool:
        total = path.stat().st_size
        first, last, status, extra = 0, total - 1, 200, {}
        if span := request.headers.get("range"):
            start, _, stop = span.removeprefix("bytes=").partition("-")
            first, last, status = int(start), min(int(stop or total), total - 1), 206
            if first >= total:
                connection.sendall(_head(416, 0))
                return True
            extra = {"content-range": f"bytes {first}-{last}/{total}"}
        length = last - first + 1
        head = _head(status, length, **{"last-modified": _DATE, "etag": self._etag(path), **extra})
        connection.sendall(head, socket.MSG_MORE if length and request.method != "HEAD" else 0)
        if request.method == "HEAD":
            return True
        end = first + length if fault.cut < 0 else first + min(length, fault.cut)
        with path.open("rb") as file:
            while first < end:
                if fault.rate:
                    time.sleep(0.05)
                step = max(1, int(fault.rate / 20)) if fault.rate else end - first
                first += os.sendfile(connection.fileno(), file.fileno(), first, min(step, end - first))
        return fault.cut < 0

    def _etag(self, path: Path) -> str:
        if str(path) not in self._etags:
            self._etags[str(path)] = f'"{hashlib.md5(str(path).encode()).hexdigest()}"'  # noqa: S324 - a label
        return self._etags[str(path)]

    def _list(self, query: dict[str, str]) -> str:
        prefix, after = query.get("prefix", ""), query.get("continuation-token") or query.get("start-after", "")
        encode = quote if query.get("encoding-type") == "url" else escape
        keys = sorted(key for key in self._keys() if key.startswith(prefix) and key > after)
        page = keys[: int(query.get("max-keys", PAGE))]
        more = len(keys) > len(page)
        entries = "".join(
            f"<Contents><Key>{encode(key)}</Key><LastModified>2026-11-29T10:00:00.000Z</LastModified>"
            f"<ETag>{escape(self._etag(self.folder / key))}</ETag><Size>{(self.folder / key).stat().st_size}</Size>"
            "<StorageClass>STANDARD</StorageClass></Contents>"
            for key in page
        )
        token = f"<NextContinuationToken>{escape(page[-1])}</NextContinuationToken>" if more else ""
        encoding = "<EncodingType>url</EncodingType>" if encode is quote else ""
        return (
            '<?xml version="1.0" encoding="UTF-8"?><ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/">'
            f"<Name>b</Name><Prefix>{encode(prefix)}</Prefix><KeyCount>{len(page)}</KeyCount><MaxKeys>{PAGE}</MaxKeys>"
            f"{encoding}<IsTruncated>{str(more).lower()}</IsTruncated>{token}{entries}</ListBucketResult>"
        )

    def _keys(self) -> Iterator[str]:
        for folder, _, names in os.walk(self.folder):
            relative = os.path.relpath(folder, self.folder)
            yield from (name if relative == "." else f"{relative}/{name}" for name in names)


def _head(status: int, length: int, **headers: str) -> bytes:
    fields = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    return f"HTTP/1.1 {status} X\r\ndate: {_DATE}\r\ncontent-length: {length}\r\n{fields}\r\n".encode()


if __name__ == "__main__":
    server = S3(Path(sys.argv[1]), latency=float(sys.argv[2]))
    print(server.url, flush=True)
    sys.stdin.read()
