"""What the stub of the tests (`tests/serving/front/stub.py`) assumes of the engine, as questions that both answer.

Each question finds the subject awake with nothing running, and leaves it so; the last of all ends it.
"""

import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tests.engine_check.assumptions.subject import PATHS, Subject
from tests.engine_check.client import Stream, until

SLEEP, WAKE = "/sleep?level=1&mode=wait", "/wake_up"
ABORT = "/sleep?level=1"
"""vLLM's default mode."""

LASTING = 500
"""Tokens of a stream that goes on for seconds in both."""

LOOK = 1.5
"""Seconds for which what must not happen is looked at."""


@dataclass(frozen=True, kw_only=True)
class Assumption:
    """One of them."""

    what: str
    ask: Callable[[Subject], Any]
    known: tuple[Any, Any] | None = None
    """(the stub's answer, the engine's) where they differ on purpose."""
    why: str = ""
    """They differ."""

    def verdict(self, stub: Any, engine: Any) -> str:
        """Return what is wrong; "": nothing."""
        if self.known is None:
            return "" if stub == engine else f"the stub says {stub}, the engine {engine}"
        return "" if (stub, engine) == self.known else f"known to differ as {self.known}, and now {(stub, engine)}"


def _said(subject: Subject, path: str, method: str = "GET") -> tuple[int, Any]:
    answer = subject.get(path, method)
    return answer.status, json.loads(answer.body) if answer.body.startswith("{") else answer.body


def _asleep(question: Callable[[Subject], Any]) -> Callable[[Subject], Any]:
    def ask(subject: Subject) -> Any:
        subject.get(SLEEP, "POST")
        try:
            return question(subject)
        finally:
            subject.get(WAKE, "POST")
            subject.quiet()

    return ask


def _fate(stream: Stream) -> str:
    if stream.running:
        return "begun, no token" if stream.answer.status else "not begun"
    return f"ended with {len(stream.tokens)} tokens, {'whole' if stream.whole else 'cut'}"


def _queued(then: Callable[[Subject], object]) -> Callable[[Subject], tuple[str, str]]:
    """Return a question: what has become of a stream, sent to a sleeping engine, after `then`, and after a wake."""

    def ask(subject: Subject) -> tuple[str, str]:
        subject.get(SLEEP, "POST")
        stream = subject.stream(5)
        end = time.monotonic() + LOOK
        while stream.running and time.monotonic() < end:
            time.sleep(0.05)
        then(subject)
        end = time.monotonic() + LOOK
        while stream.running and time.monotonic() < end:
            time.sleep(0.05)
        before = "waits" if stream.running else _fate(stream)
        subject.get(WAKE, "POST")
        stream.join()
        subject.quiet()
        return before, _fate(stream)

    return ask


def _counts(subject: Subject) -> tuple[bool, float, bool]:
    outcome = subject.agent("count")
    return outcome.ok, outcome.value, outcome.sleeping


def _while_one_is_queued(subject: Subject) -> float:
    subject.get(SLEEP, "POST")
    stream = subject.stream(5)
    time.sleep(LOOK)
    found = subject.agent("count").value
    subject.get(WAKE, "POST")
    stream.join()
    subject.quiet()
    return found


def _while_one_runs(subject: Subject) -> tuple[bool, float, bool]:
    stream = subject.running(LASTING)
    found = _counts(subject)
    stream.leave()
    subject.quiet()
    return found


def _sleep_while_one_runs(subject: Subject) -> tuple[str, bool]:
    stream = subject.running(LASTING)
    running = stream.running
    subject.get(SLEEP, "POST")
    stream.join()
    found = _fate(stream), running and bool(_said(subject, "/is_sleeping")[1]["is_sleeping"])
    subject.get(WAKE, "POST")
    return found[0].split(",")[-1].strip(), found[1]


def _stream(subject: Subject) -> tuple[Any, ...]:
    stream = subject.stream(10).join()
    headers = stream.answer.headers
    lines = {line[:6] if line.startswith("data: {") else line for line in stream.text.split("\n")}
    return (
        stream.answer.status,
        headers["content-type"].partition(";")[0],
        headers.get("transfer-encoding"),
        "content-length" in headers,
        sorted(lines),
        stream.whole,
    )


def _gone(subject: Subject) -> float:
    stream = subject.running(LASTING)
    stream.leave()
    subject.quiet()
    return subject.agent("count").value


def _whose(subject: Subject) -> bool:
    first, second = subject.agent("count").engine, subject.agent("count").engine
    return first == second != ""


def _ends(subject: Subject) -> tuple[Any, ...]:
    stream = subject.running(LASTING)
    subject.terminate()
    until(lambda: subject.agent("health").gone or not stream.running, "its port stays open")
    refused = subject.agent("health").gone and subject.get("/v1/models").body == "ConnectionRefusedError"
    running = stream.running
    code = subject.ended()
    stream.join()
    return refused, running, stream.whole, code


def _status(subject: Subject, path: str) -> int:
    return subject.get(f"/{path}", "GET" if path == "is_sleeping" else "POST").status


def _slept(subject: Subject) -> tuple[int, Any]:
    found = _said(subject, SLEEP, "POST")
    subject.get(WAKE, "POST")
    return found


_DROPPED = "ended with 0 tokens, cut"

DEVELOPMENT = (
    Assumption(what="/is_sleeping, awake", ask=lambda one: _said(one, "/is_sleeping")),
    Assumption(what="/sleep", ask=_slept),
    Assumption(what="/is_sleeping, asleep", ask=_asleep(lambda one: _said(one, "/is_sleeping"))),
    Assumption(what="/sleep, asleep", ask=_asleep(lambda one: _said(one, SLEEP, "POST"))),
    Assumption(what="/wake_up", ask=_asleep(lambda one: _said(one, WAKE, "POST"))),
    Assumption(what="/wake_up, awake", ask=lambda one: _said(one, WAKE, "POST")),
    Assumption(what="/is_sleeping after /wake_up", ask=lambda one: _said(one, "/is_sleeping")),
    Assumption(what="/health, asleep", ask=_asleep(lambda one: one.get("/health").status)),
    Assumption(what="/v1/models, asleep", ask=_asleep(lambda one: one.get("/v1/models").status)),
    Assumption(what="the agent's count, awake (told, requests, sleeping)", ask=_counts),
    Assumption(what="the agent's count, asleep (told, requests, sleeping)", ask=_asleep(_counts)),
    Assumption(what="the agent's count while one runs (told, requests, sleeping)", ask=_while_one_runs),
    Assumption(
        what="the agent's count while one is queued in its sleep",
        ask=_while_one_is_queued,
        known=(1.0, 0.0),
        why="the engine counts when it schedules, and asleep it does not: no count tells of what is queued there",
    ),
    Assumption(what="two counts are of one engine", ask=_whose),
    Assumption(what="a request to a sleeping engine (then, after the wake)", ask=_queued(lambda _: None)),
    Assumption(
        what="a second /sleep with mode=wait, one queued (then, after the wake)",
        ask=_queued(lambda one: one.get(SLEEP, "POST")),
        known=((_DROPPED, _DROPPED), ("waits", "ended with 5 tokens, whole")),
        why="only vLLM's default mode ends what is queued; the stub is stricter",
    ),
    Assumption(
        what="a second /sleep without a mode, one queued (then, after the wake)",
        ask=_queued(lambda one: one.get(ABORT, "POST")),
        known=((_DROPPED, _DROPPED), ("ended with 0 tokens, whole", "ended with 0 tokens, whole")),
        why="an empty success in both; that of the stub is no stream",
    ),
    Assumption(what="/sleep while a stream runs (the stream, asleep afterwards)", ask=_sleep_while_one_runs),
    Assumption(what="a stream (status, type, encoding, length, lines, whole)", ask=_stream),
    Assumption(what="requests that run when their client has gone", ask=_gone),
)
"""Of an engine in development mode."""

PLAIN = (
    *(Assumption(what=f"/{path} without development mode", ask=lambda one, p=path: _status(one, p)) for path in PATHS),
    Assumption(what="the agent's question without development mode", ask=lambda one: one.agent("ask")),
    Assumption(what="the agent's count without development mode", ask=_counts),
)
"""Of one that is not."""

LAST = (Assumption(what="SIGTERM while a stream runs (port closed, stream goes on, is whole, exit code)", ask=_ends),)
