"""`ops try`: one request to a server, as a client makes it, and how long its parts took."""

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from http import HTTPStatus
from http.client import HTTPConnection, HTTPException, HTTPResponse
from typing import Any

from ops import COMMAND
from ops.cluster.api import Body, Cluster
from ops.cluster.tunnel import connection
from ops.failures import Failure, RefusedError, UnclearError
from ops.live import bearer, chat, pods
from ops.live.look import said_by_agent
from ops.live.state import of_pod
from ops.stack.stack_file import Stack
from ops.terminal import progress

SILENT = 120.0
"""Seconds that a server may be silent beside what it may hold a request: a long prompt on a busy engine."""

ASLEEP = frozenset({"asleep", "waking"})


@dataclass(frozen=True, kw_only=True)
class Asked:
    """What is asked."""

    prompt: str
    max_tokens: int
    direct: bool
    """Of the engine itself, past the front proxy."""
    given: tuple[str, str] | None
    """The token that was given, and where; None: none was."""


@dataclass(frozen=True, kw_only=True)
class Trial:
    """What came of it. Seconds are counted from the request, through the tunnel."""

    server: str
    pod: str
    answer: chat.Answer
    first: float | None
    """Seconds to the first token; None: none came."""
    seconds: float
    """To the last."""
    slept: bool
    """It was asleep when it was asked."""
    woke: float | None
    """Seconds that the agent says its wake took; None: it did not wake, or nobody knows."""
    fault: str

    @property
    def rate(self) -> float | None:
        """Tokens per second after the first one; None where that cannot be said."""
        tokens = self.answer.tokens or 0
        if self.first is None or tokens < 2 or self.seconds <= self.first:
            return None
        return (tokens - 1) / (self.seconds - self.first)

    def figures(self) -> str:
        """Return the line below the answer."""
        parts = [
            f"first token {self.first:.2f} s" if self.first is not None else "no token",
            f"{self.rate:.1f} tokens/s" if self.rate else "",
            f"{self.answer.tokens} tokens" if self.answer.tokens is not None else "",
            f"finish_reason {self.answer.finish}" if self.answer.finish else "",
            f"pod {self.pod}",
        ]
        if self.slept:
            parts.append(f"was asleep, woke in {self.woke:.2f} s" if self.woke is not None else "was asleep")
        return ", ".join(filter(None, parts))

    def document(self) -> dict[str, Any]:
        """Return it for a program."""
        return {
            "server": self.server,
            "pod": self.pod,
            "answer": self.answer.text,
            "reasoning": self.answer.reasoning,
            "firstTokenSeconds": _rounded(self.first),
            "seconds": _rounded(self.seconds),
            "tokens": self.answer.tokens,
            "tokensPerSecond": _rounded(self.rate),
            "finishReason": self.answer.finish or None,
            "asleep": self.slept,
            "wakeSeconds": _rounded(self.woke),
            "fault": self.fault or None,
        }


def tried(cluster: Cluster, stack: Stack, server: str, asked: Asked, show: Callable[[str], object]) -> Trial:
    """Ask a pod that is ready.

    Args:
        cluster: the stack's.
        stack: names namespace and model.
        server: to be asked.
        asked: what.
        show: takes the pieces of the answer as they come.

    Raises:
        RefusedError: no pod is ready, it sleeps for somebody else to wake it, or it refuses the request.
        UnclearError: no rights, no answer, not now, or the pod was deleted meanwhile.
        UsageError: the token that was given is none.
        OSError: `show` cannot.
    """
    namespace, settings = stack.settings.namespace, stack.server(server)
    title = f"servers.{server}"
    with ExitStack() as waiting:
        say = waiting.enter_context(progress(title))
        pod = _ready(cluster, namespace, server)
        name, port = pods.name(pod), pods.port(pod, direct=asked.direct)
        token = _token(cluster, namespace, pod, asked)
        state = _state(cluster, pod)
        _refuse_sleeper(title, name, state, server, direct=asked.direct)
        slept = state.get("state") in ASLEEP
        patience = SILENT + (settings.sleep.hold_seconds if pods.sleeps(pod) and not asked.direct else 0)
        answer, first, unwritten = chat.Answer(), None, None
        with connection(cluster, namespace, name, port, timeout=patience) as opened:
            say(f"pod {name} is asleep and wakes" if slept else f"pod {name} is asked")
            body = chat.request(settings.model.served_name, asked.prompt, asked.max_tokens)
            began = last = time.monotonic()
            response = _sent(opened, title, body, token)
            for piece in _pieces(response, answer):
                last = time.monotonic()
                first = last - began if first is None else first
                waiting.close()
                try:
                    show(piece)
                except OSError as error:
                    unwritten = error
                    break
    if unwritten:
        # not from inside the tunnel, which would take it for its own
        raise unwritten
    fault = answer.fault()
    if fault and not answer.finish:
        _refuse_gone(cluster, namespace, pod, fault)
    return Trial(
        server=server,
        pod=name,
        answer=answer,
        first=first,
        seconds=last - began,
        slept=slept,
        woke=_state(cluster, pod).get("lastWakeSeconds") if slept else None,
        fault=fault,
    )


def _sent(opened: HTTPConnection, title: str, body: bytes, token: tuple[str, str] | None) -> HTTPResponse:
    """Return the stream that answers the request."""
    headers = {"Content-Type": "application/json", **({"Authorization": f"Bearer {token[0]}"} if token else {})}
    opened.request("POST", chat.PATH, body, headers)
    response = opened.getresponse()
    if response.status == HTTPStatus.OK:
        return response
    text, later = response.read().decode("utf-8", "replace"), response.headers.get("Retry-After")
    raise chat.refusal(title, response.status, later, text, shown=token[1] if token else "")


def _why_cut(error: Exception) -> str:
    """Return why a connection ended in the middle."""
    return "nothing came any more" if isinstance(error, TimeoutError) else "the connection was cut"


def _pieces(response: HTTPResponse, answer: chat.Answer) -> Iterator[str]:
    """Yield the texts of a stream as they come; a connection that ends before it is noted in the answer."""
    try:
        for chunk in chat.events(_lines(response)):
            if piece := answer.take(chunk):
                yield piece
    except (OSError, HTTPException) as error:
        answer.cut = _why_cut(error)


def _lines(response: HTTPResponse) -> Iterator[bytes]:
    while line := response.readline():
        yield line


def _ready(cluster: Cluster, namespace: str, server: str) -> Body:
    found = pods.of_server(cluster, namespace, server)
    if pod := pods.serving(found):
        return pod
    if not found:
        raise RefusedError(f"servers.{server}: {pods.why_none(cluster, namespace, server)[1]}")
    states = "; ".join(f"{pods.name(it)}: {of_pod(it)}" for it in found)
    raise RefusedError(f"servers.{server}: no pod is ready ({states})")


def _token(cluster: Cluster, namespace: str, pod: Body, asked: Asked) -> tuple[str, str] | None:
    given, secret = asked.given, pods.tokens_secret(pod)
    if given or asked.direct or secret is None:
        return given
    return bearer.of_secret(cluster, namespace, secret)


def _state(cluster: Cluster, pod: Body) -> dict[str, Any]:
    """Return what its agent says; nothing, when there is none or it does not answer: the request will tell."""
    if not pods.sleeps(pod):
        return {}
    try:
        return said_by_agent(cluster, pod)
    except Failure:
        return {}


def _refuse_sleeper(title: str, name: str, state: dict[str, Any], server: str, *, direct: bool) -> None:
    if state.get("state") not in ASLEEP:
        return
    if direct:
        raise RefusedError(
            f"{title}: pod {name} is {state['state']}, and --direct passes by who would wake it: without, it wakes"
        )
    if state.get("stay") and state["state"] == "asleep":
        raise RefusedError(f"{title}: pod {name} is asleep and no request wakes it: {COMMAND} wake --server {server}")


def _refuse_gone(cluster: Cluster, namespace: str, pod: Body, fault: str) -> None:
    found = cluster.find(f"/api/v1/namespaces/{namespace}/pods/{pods.name(pod)}")
    if found is None or pods.going(found) or found["metadata"]["uid"] != pod["metadata"]["uid"]:
        raise UnclearError(f"pod {namespace}/{pods.name(pod)} was deleted meanwhile: {fault}")


def _rounded(seconds: float | None) -> float | None:
    return None if seconds is None else round(seconds, 3)
