"""What a measurement needs beside the Kubernetes API: the engine's figures, the agent's control port, a first request.

Injected, because all of it goes through the API server's port-forward to a pod, and few tests have one.
"""

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPException, HTTPResponse
from typing import Any, Protocol

from ops.failures import UnclearError
from ops.live import chat

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


def first_token(connection: HTTPConnection, model: str) -> float:
    """Return the seconds from a chat request of one token to its first piece of text.

    Args:
        connection: to the engine.
        model: the name that it is served by.

    Raises:
        UnclearError: there was none.
    """
    begun = time.monotonic()
    asked, come = chat.request(model, "Hi", 1), chat.Answer()
    try:
        connection.request("POST", chat.PATH, asked, {"Content-Type": "application/json"})
        answer = connection.getresponse()
        if answer.status != _OK:
            said = " ".join(answer.read(400).decode("utf-8", "replace").split())
            raise UnclearError(f"first request: the engine answers {answer.status}: {said}")
        # the first piece of a stream has a role alone
        if any(come.take(chunk) for chunk in chat.events(_lines(answer, begun + PATIENCE))):
            return time.monotonic() - begun
    except (OSError, HTTPException) as error:
        raise UnclearError(f"first request: {error or type(error).__name__}") from None
    raise UnclearError("first request: the answer has no token")


def _lines(answer: HTTPResponse, end: float) -> Iterator[bytes]:
    for line in iter(answer.readline, b""):
        yield line
        if time.monotonic() > end:
            return
