"""A server on loopback that answers as GitHub's REST API does: comments, issues, pages, and its bad moments."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

TOKEN = "ghs_hunter2"  # noqa: S105 - what no output may show
BOT = "github-actions[bot]"


@dataclass
class Site:
    """One repository, `o/r`, with one pull request, 7."""

    comments: list[dict[str, Any]] = field(default_factory=list)
    issues: list[dict[str, Any]] = field(default_factory=list)
    head: str = "a" * 40
    login: str = BOT
    asked: list[str] = field(default_factory=list)
    bad: list[tuple[str, int, dict[str, str], str]] = field(default_factory=list)
    """What comes instead of the next answers to a method: method, status, headers, message."""
    does_it_all_the_same: bool = False
    """A fault comes after the work was done."""
    url: str = ""

    def answer(self, method: str, path: str, query: dict[str, list[str]], content: Any) -> tuple[int, Any]:
        place = path.removeprefix("/repos/o/r/")
        page, size = int(query.get("page", ["1"])[0]), int(query.get("per_page", ["30"])[0])
        if place == "pulls/7":
            return 200, {"number": 7, "head": {"sha": self.head}}
        if place == "issues/7/comments" and method == "GET":
            return 200, self.comments[(page - 1) * size : page * size]
        if place == "issues/7/comments":
            return 201, self._added(self.comments, content)
        if place == "issues" and method == "GET":
            found = [it for it in self.issues if it["state"] in query["state"]]
            return 200, found[(page - 1) * size : page * size]
        if place == "issues":
            return 201, self._added(self.issues, {**content, "state": "open"})
        if place.startswith(("issues/comments/", "issues/")) and method == "PATCH":
            those = self.comments if "comments" in place else self.issues
            number = int(place.rpartition("/")[2])
            (it,) = [it for it in those if it["id"] == number]
            it |= content
            return 200, it
        return 404, {"message": "Not Found"}

    def _added(self, to: list[dict[str, Any]], content: dict[str, Any]) -> dict[str, Any]:
        number = len(to) + 1
        address = f"https://github.com/o/r/{number}"
        to.append({**content, "id": number, "number": number, "user": {"login": self.login}, "html_url": address})
        return to[-1]

    def wrote(self, login: str, body: str) -> None:
        """Somebody writes a comment."""
        self._added(self.comments, {"body": body})["user"] = {"login": login}


@contextmanager
def serving() -> Iterator[Site]:
    site = Site()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            content = json.loads(self.rfile.read(int(self.headers.get("Content-Length") or 0)) or "null")
            place = urlsplit(self.path)
            site.asked.append(f"{self.command} {self.path}")
            headers: dict[str, str] = {}
            if self.headers["Authorization"] != f"Bearer {TOKEN}":
                status, said = 401, {"message": "Bad credentials"}
            elif bad := next((it for it in site.bad if it[0] == self.command), None):
                site.bad.remove(bad)
                if site.does_it_all_the_same:
                    site.answer(self.command, place.path, parse_qs(place.query), content)
                status, headers, said = bad[1], bad[2], {"message": bad[3]}
            else:
                status, said = site.answer(self.command, place.path, parse_qs(place.query), content)
            text = json.dumps(said).encode()
            self.send_response(status)
            for name, value in {**headers, "Content-Length": str(len(text))}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(text)

        def do_POST(self) -> None:
            self.do_GET()

        def do_PATCH(self) -> None:
            self.do_GET()

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    site.url = f"http://127.0.0.1:{server.server_port}"
    try:
        yield site
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
