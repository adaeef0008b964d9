"""What a measurement needs beside the Kubernetes API: the engine's figures, the agent's control port, a first request.

Injected, because all of it goes through the API server's port-forward to a pod, and few tests have one.
"""

import json
import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPException
from typing import Any, Protocol

from ops.failures import UnclearError

PATIENCE = 120.0
"""Seconds for a first token. Kernels that nobody built before are built then."""

_OK = 200


class Agent(Protocol):
    """The control port of the agent beside an engine that can sleep (docs/front-proxy.md)."""

    def state(self) -> Mapping[str, Any]:
        """Return its state: `state`, `seconds` since then, `lastWakeSeconds`, `problem` ..."""

    def sleep(self, *, stay: bool = False) -> object:
        """Order sleep; it answers before the engine sleeps."""

    def wake(self) -> object:
        """Order a wake; it answers before the engine is awake."""


@dataclass(frozen=True, kw_only=True)
class Reach:
    """Ways to a pod, each by the pod's name."""

    metrics: Callable[[str], str]
    """The engine's metrics as text."""
    agent: Callable[[str], AbstractContextManager[Agent]]
    """The control port, while the `with` lasts."""
    first_token: Callable[[str], float]
    """Seconds from a request to its first token."""


def metrics(connection: HTTPConnection) -> str:
    """Return the engine's metrics. With a front proxy they are open there too, and wake nobody.

    Args:
        connection: to the pod's port.

    Raises:
        UnclearError: it has none.
    """
    connection.request("GET", "/metrics")
    answer = connection.getresponse()
    text = answer.read().decode("utf-8", "replace")
    if answer.status != _OK:
        raise UnclearError(f"/metrics: {answer.status}")
    return text


def first_token(connection: HTTPConnection, model: str) -> float:
    """Return the seconds from a chat request of one token to its first piece of text.

    Args:
        connection: to the engine.
        model: the name that it is served by.

    Raises:
        UnclearError: there was none.
    """
    asked = {"model": model, "messages": [{"role": "user", "content": "Hi"}], "max_tokens": 1, "stream": True}
    begun = time.monotonic()
    try:
        connection.request("POST", "/v1/chat/completions", json.dumps(asked), {"Content-Type": "application/json"})
        answer = connection.getresponse()
        if answer.status != _OK:
            said = " ".join(answer.read(400).decode("utf-8", "replace").split())
            raise UnclearError(f"first request: the engine answers {answer.status}: {said}")
        while line := answer.readline():
            if _has_text(line.decode("utf-8", "replace")):
                return time.monotonic() - begun
            if time.monotonic() - begun > PATIENCE:
                break
    except (OSError, HTTPException) as error:
        raise UnclearError(f"first request: {error or type(error).__name__}") from None
    raise UnclearError("first request: the answer has no token")


def _has_text(line: str) -> bool:
    """Whether a line of a stream carries text. The first piece of a stream has a role alone."""
    if not line.startswith("data: {"):
        return False
    try:
        choices = json.loads(line.removeprefix("data: "))["choices"]
        delta = choices[0]["delta"] if choices else {}
    except (ValueError, KeyError, TypeError):
        return False
    # a model that thinks first says so in another field, under one of two names
    return any(delta.get(key) for key in ("content", "reasoning", "reasoning_content"))
