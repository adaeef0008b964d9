"""Requests to the API server over one TLS connection that stays open.

The standard library and not the `kubernetes` package: these four requests need none of its 126 MB, it drops the
server's warnings unless asked for raw answers, and its discovery writes a cache into the user's temporary folder.
"""

from __future__ import annotations

import http.client
import json
import re
import ssl
import time
import urllib.parse
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from rehearsal.control_plane.process import Process

_PATIENCE_SECONDS = 20.0
# A process that dies takes its connections along a moment before its end can be seen.
_DEATH_SECONDS = 2.0
# RFC 7234, 5.5: code, agent, quoted text; the API server sends code 299 and the agent `-`.
_WARNING = re.compile(r'\d{3} \S+ "((?:[^"\\]|\\.)*)"')
_SERVER_ERROR = 500


class ControlPlaneError(Exception):
    """The control plane does not start, has stopped, or does not answer; the message is one line."""


@dataclass(frozen=True, kw_only=True)
class ApiServer:
    """A kube-apiserver that runs."""

    url: str
    """`https://127.0.0.1:<port>`."""
    ca: Path
    """PEM file with the authority that signed its certificate."""
    token: str
    """Bearer token of a user in the group system:masters."""
    version: str
    """For example `1.36.3`."""
    processes: tuple[Process, ...]
    """The API server and its store."""

    def kubeconfig(self) -> dict[str, Any]:
        """What kubectl, and programs of Kubernetes, find and believe it by."""
        name = "rehearsal"
        return {
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": name,
            "contexts": [{"name": name, "context": {"cluster": name, "user": name}}],
            "clusters": [{"name": name, "cluster": {"server": self.url, "certificate-authority": str(self.ca)}}],
            "users": [{"name": name, "user": {"token": self.token}}],
        }

    def stopped(self) -> str | None:
        """One line with the exit code and the end of the log if one of the two has stopped, else None."""
        return next(filter(None, (process.stopped() for process in self.processes)), None)


@dataclass(frozen=True, kw_only=True)
class Answer:
    """What the API server said."""

    status: int
    text: str
    warnings: tuple[str, ...]

    @property
    def ok(self) -> bool:
        """Whether it did what was asked."""
        return self.status < http.client.BAD_REQUEST

    @property
    def body(self) -> dict[str, Any]:
        """The object, list or Status that came back; a plain text as the message of a Status."""
        try:
            found = json.loads(self.text)
        except ValueError:
            found = None
        return found if isinstance(found, dict) else {"message": self.text.strip()}

    @property
    def message(self) -> str:
        """Why it refused, on one line."""
        return " ".join(str(self.body.get("message") or f"HTTP status {self.status}").split())


class Client:
    """One connection; not for several threads. A context manager."""

    def __init__(self, server: ApiServer, *, patience: float = _PATIENCE_SECONDS) -> None:
        """`patience`: seconds to wait for one answer."""
        self._server = server
        self._patience = patience
        self._connection: http.client.HTTPSConnection | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        self._close()

    def get(self, path: str) -> Answer:
        """Read `path`. Raises ControlPlaneError."""
        return self._request("GET", path, None, "application/json")

    def create(self, path: str, body: Mapping[str, Any], **options: str) -> Answer:
        """POST an object; `options` are query parameters (`dryRun="All"`). Raises ControlPlaneError."""
        return self._request("POST", f"{path}?{urllib.parse.urlencode(options)}", body, "application/json")

    def apply(self, path: str, body: Mapping[str, Any], **options: str) -> Answer:
        """Server-side apply of an object, as its only owner. Raises ControlPlaneError."""
        query = urllib.parse.urlencode({"fieldManager": "rehearsal", "force": "true", **options})
        return self._request("PATCH", f"{path}?{query}", body, "application/apply-patch+yaml")

    def merge(self, path: str, body: Mapping[str, Any]) -> Answer:
        """Merge fields into an object that is there. Raises ControlPlaneError."""
        return self._request("PATCH", path, body, "application/merge-patch+json")

    def is_ready(self) -> bool:
        """Whether the server serves, and has made the namespaces that every cluster has."""
        paths = ("/readyz", "/api/v1/namespaces/default", "/api/v1/namespaces/kube-system")
        try:
            return all(self._exchange("GET", path, None, "application/json").ok for path in paths)
        except (OSError, http.client.HTTPException):
            self._close()
            return False

    def _request(self, method: str, path: str, body: Mapping[str, Any] | None, content: str) -> Answer:
        # JSON is YAML only as long as nothing outside the basic plane is escaped.
        data = None if body is None else json.dumps(body, ensure_ascii=False).encode()
        if stopped := self._server.stopped():
            # Without its store the API server would think about it for a minute.
            raise ControlPlaneError(stopped)
        try:
            answer = self._exchange(method, path, data, content)
        except (OSError, http.client.HTTPException) as failure:
            self._close()
            raise ControlPlaneError(self._death() or f"kube-apiserver does not answer ({failure!r})") from failure
        if answer.status >= _SERVER_ERROR and (stopped := self._server.stopped()):
            raise ControlPlaneError(stopped)
        return answer

    def _exchange(self, method: str, path: str, data: bytes | None, content: str) -> Answer:
        """Raises OSError and HTTPException."""
        connection = self._connection or self._connect()
        headers = {"Authorization": f"Bearer {self._server.token}", "Content-Type": content}
        connection.request(method, path, data, headers)
        response = connection.getresponse()
        text = response.read().decode("utf-8", "replace")
        quoted = _WARNING.findall(", ".join(response.headers.get_all("Warning", [])))
        warnings = tuple(re.sub(r"\\(.)", r"\1", warning) for warning in quoted)
        return Answer(status=response.status, text=text, warnings=warnings)

    def _connect(self) -> http.client.HTTPSConnection:
        # Not create_default_context: from Python 3.13 on it wants extensions that self-signed certificates lack.
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.load_verify_locations(self._server.ca)
        address = urllib.parse.urlsplit(self._server.url)
        self._connection = http.client.HTTPSConnection(
            str(address.hostname), address.port, context=context, timeout=self._patience
        )
        return self._connection

    def _close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _death(self) -> str | None:
        deadline = time.monotonic() + _DEATH_SECONDS
        while (problem := self._server.stopped()) is None and time.monotonic() < deadline:
            time.sleep(0.02)
        return problem
