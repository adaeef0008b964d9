"""The requests that `ops` makes, as JSON: the client's own classes would drop fields that they do not know."""

import json
import logging
import re
import threading
from collections.abc import Mapping, Sequence
from typing import Any, Self
from urllib.parse import quote

from kubernetes.client import ApiClient
from kubernetes.client.exceptions import ApiException
from kubernetes.stream.ws_client import create_websocket, get_websocket_url
from urllib3.exceptions import HTTPError
from websocket import WebSocket, WebSocketBadStatusException, WebSocketException

from ops.failures import RefusedError, UnclearError
from ops.terminal import echo, plain

Body = dict[str, Any]

TIMEOUT = (10, 60)
"""Seconds to connect, and to wait for an answer."""

_SPEAKER = re.compile(r"^HTTPS?Connection(Pool)?\(.*?\): ")
"""Before what urllib3 says: the address again."""

_UNAUTHORIZED, _FORBIDDEN, _NOT_FOUND = 401, 403, 404
_REFUSALS = frozenset({400, 409, 422})
"""Answers that stay the same when one asks again. A 403 is none: rights come with another identity."""


class DeniedError(UnclearError):
    """The API answers, and not to whoever asks: waiting changes nothing."""


class Said(logging.Handler):
    """The last thing that the client said about credentials: it logs why it has none, and goes on without."""

    last = ""

    @classmethod
    def listening(cls) -> Self:
        """Return one that hears everything; without any, the client's words would go to the terminal."""
        heard = cls(logging.ERROR)
        logging.getLogger().addHandler(heard)
        return heard

    def emit(self, record: logging.LogRecord) -> None:
        """Keep it."""
        self.last = one_line(record.getMessage())


def one_line(said: object) -> str:
    """Return what the client says of a kubeconfig, up to where it repeats an entry: that may hold a token."""
    return " ".join(str(said).split()).partition("/{")[0]


class Cluster:
    """A Kubernetes API."""

    def __init__(self, client: ApiClient, title: str, said: Said) -> None:
        """`title`: of it, in messages."""
        self._client, self._title, self._said = client, title, said

    def find(self, path: str) -> Body | None:
        """Return an object, None when there is none. All requests raise UnclearError when nobody can tell."""
        status, text = self._ask("GET", path)
        return None if status == _NOT_FOUND else self._body(status, text)

    def list(self, path: str, **query: str) -> Sequence[Body]:
        """Return the objects of a list that fit the query."""
        # a list of nothing may be null
        items: list[Body] = self._body(*self._ask("GET", path, query)).get("items") or []
        return items

    def text(self, path: str, **query: str) -> str:
        """Return an answer that is no JSON: a log.

        Raises:
            RefusedError: there is none (yet).
        """
        status, text = self._ask("GET", path, query)
        if status >= 400:
            self._body(status, text)
        return text

    def create(self, path: str, body: Mapping[str, Any]) -> Body:
        """Make an object.

        Raises:
            RefusedError: the server refuses it, or it is there already.
        """
        return self._body(*self._ask("POST", path, {"fieldManager": "ops"}, body))

    def merge(self, path: str, change: Mapping[str, Any]) -> Body:
        """Change an object: a JSON merge patch.

        Raises:
            RefusedError: the server refuses it, or it is not there.
        """
        status, text = self._ask("PATCH", path, {"fieldManager": "ops"}, change, "application/merge-patch+json")
        if status == _NOT_FOUND:
            raise RefusedError(f"{path}: not there")
        return self._body(status, text)

    def delete(self, path: str, uid: str) -> None:
        """Delete this very object, and what belongs to it. It may be gone already."""
        options = {"propagationPolicy": "Background", "preconditions": {"uid": uid}}
        status, text = self._ask("DELETE", path, {}, options)
        if status != _NOT_FOUND:
            self._body(status, text)

    def websocket(self, path: str, protocol: str, **query: str) -> WebSocket:
        """Open a stream to a subresource of a pod. Since Kubernetes 1.35 that takes create of it, beside get.

        Args:
            path: of the subresource.
            protocol: that is spoken on it, one of Kubernetes' subprotocols.
            query: its options.

        Raises:
            RefusedError: the pod is not there, or does not run.
        """
        request = self._request("GET", path, query, {"sec-websocket-protocol": protocol})
        try:
            return _opened(self._client.configuration, get_websocket_url(request[1]), request[2])
        except WebSocketBadStatusException as failure:
            status, text = failure.status_code, (failure.resp_body or b"").decode("utf-8", "replace")
        except (WebSocketException, OSError, ValueError) as failure:
            raise UnclearError(f"{self._title} does not answer: {one_line(failure)}") from None
        try:
            self._body(status, text)
        except UnclearError as unclear:
            if status == _NOT_FOUND:
                raise RefusedError(str(unclear)) from None
            if status == _FORBIDDEN:
                # to who has get alone the API does not say what is missing
                kind = path.rpartition("/")[2]
                raise DeniedError(f"{str(unclear).rstrip(': ')} (it takes get and create of pods/{kind})") from None
            raise
        raise UnclearError(f"{self._title} answers {status} in the place of a stream")

    def _ask(
        self,
        method: str,
        path: str,
        query: Mapping[str, str] | None = None,
        body: Mapping[str, Any] | None = None,
        kind: str = "application/json",
    ) -> tuple[int, str]:
        headers = {"Accept": "application/json, */*"} | ({"Content-Type": kind} if body else {})
        request = self._request(method, path, query, headers, body)
        try:
            answer = self._client.call_api(*request, _request_timeout=TIMEOUT)
            return answer.status, answer.read().decode("utf-8", "replace")
        except (HTTPError, ApiException, OSError) as error:
            said = " ".join(str(getattr(error, "reason", None) or error).split())
            before = f"; no credentials before: {self._said.last}" if self._said.last else ""
            raise UnclearError(f"{self._title} does not answer: {_SPEAKER.sub('', said)}{before}") from None
        except ValueError:
            # its text repeats the header, so the token
            raise UnclearError(f"{self._title} cannot be asked: no address, or a token of more than one line") from None

    def _request(
        self,
        method: str,
        path: str,
        query: Mapping[str, str] | None,
        headers: Mapping[str, str],
        body: Mapping[str, Any] | None = None,
    ) -> Any:
        """Return method, URL, headers and body, with whoever asks in the headers."""
        return self._client.param_serialize(
            method=method,
            resource_path=quote(path),
            query_params=list((query or {}).items()),
            header_params=dict(headers),
            body=body,
            auth_settings=["BearerToken"],
        )

    def _body(self, status: int, text: str) -> Body:
        try:
            body = json.loads(text)
        except ValueError:
            body = {"message": text}
        if status < 400 and isinstance(body, dict) and "kind" in body:
            return body
        if status < 400:
            # a proxy's page, another server's port
            said = echo(" ".join(text.split()))
            raise UnclearError(f"{self._title} answers {status}, and not as a Kubernetes API does: {said}")
        message = plain(" ".join(str(body.get("message") if isinstance(body, dict) else body).split())[:500])
        if status == _UNAUTHORIZED:
            raise DeniedError(f"{self._title} does not know you: {self._said.last or message}")
        line = f"{self._title} answers {status}: {message}"
        if status == _FORBIDDEN:
            raise DeniedError(line)
        raise RefusedError(line) if status in _REFUSALS else UnclearError(line)


def _opened(configuration: Any, url: str, headers: Mapping[str, str]) -> WebSocket:
    """Return an open stream. In a thread, for the time limit that `create_websocket` has not."""
    opened: list[WebSocket] = []
    failed: list[Exception] = []

    def run() -> None:
        try:
            opened.append(create_websocket(configuration, url, headers))
        except Exception as failure:
            failed.append(failure)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(sum(TIMEOUT))
    if opened:
        return opened[0]
    raise failed[0] if failed else WebSocketException(f"no stream within {sum(TIMEOUT)} s")
