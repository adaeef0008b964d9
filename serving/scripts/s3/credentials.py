"""Who the pod is to AWS: keys from the environment, or EKS Pod Identity's agent."""

import http.client
import json
import re
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from urllib.parse import urlsplit

from outcome import Limit, NoCredentialsError

_AGENTS = {"169.254.170.23", "fd00:ec2::23", "127.0.0.1", "::1", "localhost"}
"""Who may be sent the pod's token in clear text, as in AWS's own SDKs."""

_SENDABLE = re.compile(r"[\x21-\x7e]+", re.ASCII)

_REFRESH = 300.0
"""Seconds before their end from which on keys are no longer used."""

_ATTEMPT = 5.0
"""Seconds for one answer of the agent."""


@dataclass(frozen=True)
class Credentials:
    """What a request is signed with."""

    access_key: str
    secret_key: str
    token: str | None = None
    expires: float = float("inf")


class CredentialSource:
    """Hands out keys to several threads, and gets new ones in time."""

    def __init__(self, env: Mapping[str, str]) -> None:
        self._env = env
        self._lock = threading.Lock()
        self._current: Credentials | None = None

    def get(self, limit: Limit) -> Credentials:
        """Return keys that are good for some minutes; waits for the agent.

        Raises:
            NoCredentialsError: there were none up to the limit, or there will never be any.
        """
        with self._lock:
            if self._current is None or self._current.expires - time.time() < _REFRESH:
                self._current = self._fixed() or self._from_agent(limit)
            return self._current

    def drop(self, refused: Credentials) -> bool:
        """Forget keys that S3 called expired; returns whether others can be had."""
        with self._lock:
            if self._current is refused:
                self._current = None
            return "AWS_ACCESS_KEY_ID" not in self._env

    def _fixed(self) -> Credentials | None:
        if "AWS_ACCESS_KEY_ID" not in self._env:
            return None
        token = self._env.get("AWS_SESSION_TOKEN")
        return Credentials(
            _clean("AWS_ACCESS_KEY_ID", self._env["AWS_ACCESS_KEY_ID"]),
            _clean("AWS_SECRET_ACCESS_KEY", self._env.get("AWS_SECRET_ACCESS_KEY", "")),
            _clean("AWS_SESSION_TOKEN", token) if token else None,
        )

    def _from_agent(self, limit: Limit) -> Credentials:
        uri = self._env.get("AWS_CONTAINER_CREDENTIALS_FULL_URI")
        if not uri:
            # set when the pod is admitted, so waiting would not help
            raise NoCredentialsError(
                "AWS_CONTAINER_CREDENTIALS_FULL_URI is not set: no Pod Identity association at admission"
            )
        url = urlsplit(uri)
        if url.scheme not in {"http", "https"} or (url.scheme == "http" and url.hostname not in _AGENTS):
            raise NoCredentialsError(f"{uri}: not the address of a credentials agent")
        pause = 0.1
        while True:
            # On a new node the agent may start after this pod, and an association takes a while to be known.
            try:
                return self._ask(uri, limit)
            except (OSError, http.client.HTTPException, ValueError, KeyError, TypeError) as error:
                reason = f"{type(error).__name__}: {error}"
            limit.pause(pause)
            pause = min(2 * pause, 1.0)
            if limit.over():
                raise NoCredentialsError(reason)

    def _ask(self, uri: str, limit: Limit) -> Credentials:
        url = urlsplit(uri)
        kind = http.client.HTTPSConnection if url.scheme == "https" else http.client.HTTPConnection
        connection = kind(url.netloc, timeout=limit.left(_ATTEMPT))
        try:
            connection.request("GET", f"{url.path or '/'}?{url.query}".rstrip("?"), headers=self._token())
            answer = connection.getresponse()
            body = answer.read(64 * 1024)
        finally:
            connection.close()
        if answer.status != 200:
            raise OSError(f"{answer.status} {body[:200].decode(errors='replace')}")
        keys = json.loads(body)
        return Credentials(
            _clean("the agent's AccessKeyId", keys["AccessKeyId"]),
            _clean("the agent's SecretAccessKey", keys["SecretAccessKey"]),
            _clean("the agent's Token", keys["Token"]),
            datetime.fromisoformat(keys["Expiration"].replace("Z", "+00:00")).timestamp(),
        )

    def _token(self) -> dict[str, str]:
        # kubelet replaces the file while the pod lives: read it each time
        if path := self._env.get("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE"):
            content = Path(path).read_text(encoding="ascii", errors="replace")
            return {"Authorization": _clean("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE", content)}
        token = self._env.get("AWS_CONTAINER_AUTHORIZATION_TOKEN")
        return {"Authorization": _clean("AWS_CONTAINER_AUTHORIZATION_TOKEN", token)} if token else {}


def _clean(name: str, value: object) -> str:
    """Return a key or token without white space around it (what is made from a file ends in a newline).

    Raises:
        NoCredentialsError: it could not be sent. The message does not hold it, as http.client's would.
    """
    clean = value.strip() if isinstance(value, str) else ""
    if not _SENDABLE.fullmatch(clean):
        raise NoCredentialsError(f"{name} is empty, or holds white space or other than printable ASCII inside")
    return clean
