"""A hub on loopback, with faults: the API and `/resolve/` on 127.0.0.1, the content network on localhost.

Two host names and ports, because what must not happen is that a token crosses from the one to the other.
"""

import hashlib
import json
import time
import urllib.parse
from collections.abc import Callable
from typing import Any, NamedTuple

from tests.serving.scripts.stands.loopback import Quiet, Server

COMMIT = "0123456789abcdef0123456789abcdef01234567"
REPOSITORY = "acme/tiny-1b"
LFS_FROM = 4096
"""Bytes from which on a file lies in LFS."""


class Ask(NamedTuple):
    name: str
    """A file of the content network, `resolve <file>` of the hub, empty for its API."""
    count: int
    """1 for the first request of that name."""


class FakeHub:
    """Serves `files` of one commit. Everything that a test changes is an attribute."""

    def __init__(self, files: dict[str, bytes], *, rate: float = 0, latency: float = 0) -> None:
        self.files, self.rate, self.latency = files, rate, latency
        self.hashes: dict[str, str] = {}
        """Of files whose listed hash is not their content's."""
        self.token = ""
        """What a gated repository asks for."""
        self.granted = True
        self.page = 1000
        self.fault: Callable[[Ask], tuple[int, dict[str, str]] | int | None] = lambda _: None
        """Returns (status, headers), or the bytes after which the connection closes."""
        self.requests: list[tuple[str, str, dict[str, str]]] = []
        self.counts: dict[str, int] = {}
        self.listed: list[str] | None = None
        self.answers: dict[str, bytes] = {}
        """What the API says instead, by `revision` and `tree`."""
        hub = self

        class Api(Quiet):
            def do_GET(self) -> None:
                hub.requests.append(("hub", self.path, dict(self.headers)))
                hub.api(self)

        class Content(Quiet):
            def do_GET(self) -> None:
                hub.requests.append(("content", self.path, dict(self.headers)))
                hub.content(self)

        self._servers = [Server(("127.0.0.1", 0), Api), Server(("127.0.0.1", 0), Content)]
        self.url, content = (server.start() for server in self._servers)
        self.content_url = content.replace("127.0.0.1", "localhost")

    def close(self) -> None:
        for server in self._servers:
            server.stop()

    def api(self, request: Quiet) -> None:
        url = urllib.parse.urlsplit(request.path)
        path = urllib.parse.unquote(url.path)
        if self.token and request.headers.get("Authorization") != f"Bearer {self.token}":
            request.answer(401, b"{}", X_Error_Code="GatedRepo")
        elif self.token and not self.granted:
            request.answer(403, b"{}", X_Error_Code="GatedRepo")
        elif not path.startswith((f"/api/models/{REPOSITORY}/", f"/{REPOSITORY}/resolve/")):
            request.answer(404, b"{}", X_Error_Code="RepoNotFound")
        elif f"/{COMMIT}" not in path:
            request.answer(404, b"{}", X_Error_Code="RevisionNotFound")
        elif path.startswith("/api/"):
            self._listing(request, path, dict(urllib.parse.parse_qsl(url.query)))
        else:
            self._resolve(request, path.partition(f"/{COMMIT}/")[2])

    def _listing(self, request: Quiet, path: str, query: dict[str, str]) -> None:
        fault = self.fault(Ask("", self._count("")))
        if isinstance(fault, tuple):
            request.answer(fault[0], b"{}", **fault[1])
        elif instead := next((body for part, body in self.answers.items() if f"/{part}/" in path), None):
            request.answer(200, instead)
        elif "/revision/" in path:
            request.answer(200, json.dumps({"sha": COMMIT, "gated": bool(self.token)}).encode())
        else:
            names, start = sorted(self.files if self.listed is None else self.listed), int(query.get("cursor", 0))
            more = start + self.page < len(names)
            link = f'<{self.url}{path}?recursive=true&cursor={start + self.page}>; rel="next"'
            body = json.dumps([self._entry(name) for name in names[start : start + self.page]]).encode()
            request.answer(200, body, **({"Link": link} if more else {}))

    def _entry(self, name: str) -> dict[str, Any]:
        content = self.files[name]
        in_git = content if len(content) < LFS_FROM else f"oid sha256:{self.sha256(name)}\n".encode()
        git = hashlib.sha1(b"blob %d\0" % len(in_git) + in_git, usedforsecurity=False).hexdigest()
        entry: dict[str, Any] = {"type": "file", "path": name, "size": len(content), "oid": git}
        if len(content) >= LFS_FROM:
            entry["lfs"] = {"oid": self.sha256(name), "size": len(content), "pointerSize": 134}
        return entry

    def sha256(self, name: str) -> str:
        if name not in self.hashes:
            self.hashes[name] = hashlib.sha256(self.files[name]).hexdigest()
        return self.hashes[name]

    def _resolve(self, request: Quiet, name: str) -> None:
        if name not in self.files:
            request.answer(404, b"{}", X_Error_Code="EntryNotFound")
            return
        fault = self.fault(Ask(f"resolve {name}", self._count(f"resolve {name}")))
        if isinstance(fault, tuple):
            request.answer(fault[0], b"{}", **fault[1])
        elif len(self.files[name]) < LFS_FROM:
            self._send(request, name)
        else:
            request.answer(
                302,
                Location=f"{self.content_url}/{urllib.parse.quote(name)}?Signature=s3cr3t-signature",
                X_Repo_Commit=COMMIT,
                X_Linked_Size=str(len(self.files[name])),
                X_Linked_ETag=f'"{self.sha256(name)}"',
            )

    def content(self, request: Quiet) -> None:
        name = urllib.parse.unquote(urllib.parse.urlsplit(request.path).path[1:])
        fault = self.fault(Ask(name, self._count(name)))
        if isinstance(fault, tuple):
            request.answer(fault[0], b"", **fault[1])
        else:
            self._send(request, name, cut=fault)

    def _send(self, request: Quiet, name: str, cut: int | None = None) -> None:
        content = memoryview(self.files[name])
        first, last = (int(item) for item in request.headers["Range"].removeprefix("bytes=").split("-"))
        body = content[first : last + 1]
        request.send_response(206)
        request.send_header("Content-Length", str(len(body)))
        request.send_header("Content-Range", f"bytes {first}-{last}/{len(content)}")
        request.send_header("X-Repo-Commit", COMMIT)
        request.end_headers()
        time.sleep(self.latency)
        if self.rate:
            step = 1024**2
            for start in range(0, len(body), step):
                began = time.monotonic()
                request.wfile.write(body[start : start + step])
                time.sleep(max(0.0, step / self.rate - (time.monotonic() - began)))
        else:
            request.wfile.write(body if cut is None else body[:cut])
        request.close_connection = cut is not None

    def _count(self, name: str) -> int:
        self.counts[name] = self.counts.get(name, 0) + 1
        return self.counts[name]
