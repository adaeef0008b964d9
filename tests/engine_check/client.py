"""Clients on loopback: plain requests, and streams that note when each piece of an answer arrives."""

import http.client
import json
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

CHAT = "/v1/chat/completions"
PATIENCE = 90
"""Seconds, beyond what anything here takes on two slow cores."""


@dataclass
class Answer:
    """What a client saw."""

    status: int = 0
    """0: no connection, or one that was closed without an answer."""
    headers: dict[str, str] = field(default_factory=dict)
    """By lower-case name."""
    body: str = ""
    """Of a failure to connect: its kind."""

    @property
    def later(self) -> bool:
        """A refusal in the form that OpenAI's clients expect, with the time after which to come again."""
        if self.status not in (502, 503) or not self.headers.get("retry-after", "").isdecimal():
            return False
        return bool(json.loads(self.body)["error"]["message"])


def until(condition: Callable[[], object], what: str, seconds: float = PATIENCE) -> None:
    """Wait for a condition. Raises AssertionError with `what` when it does not come."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, f"{what} (within {seconds:g} s)"
        time.sleep(0.02)


def call(
    port: int, path: str, method: str = "GET", body: object = None, timeout: float = PATIENCE, **headers: str
) -> Answer:
    """Make one request in a connection of its own."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=timeout)
    try:
        data = b"" if body is None else json.dumps(body).encode()
        connection.request(method, path, data, {"Content-Type": "application/json", **headers})
        answer = connection.getresponse()
        found = {name.lower(): value for name, value in answer.getheaders()}
        return Answer(answer.status, found, answer.read().decode())
    except (OSError, http.client.HTTPException) as error:
        return Answer(body=type(error).__name__)
    finally:
        connection.close()


def asked(tokens: int, *, stream: bool, seconds: float = 0.0) -> dict[str, Any]:
    """Return the body of a request that both the engine and the stub of the tests read.

    `seconds`: that the stub takes for a token, or for the whole answer without a stream.
    """
    ours = {"messages": [{"role": "user", "content": "hello"}], "max_tokens": tokens, "ignore_eos": True}
    counted = {"stream_options": {"include_usage": True, "continuous_usage_stats": True}} if stream else {}
    return {"stream": stream, **counted, "temperature": 0, **ours, "id": "check", "tokens": tokens, "seconds": seconds}


class Stream:
    """A chat stream in a thread of its own."""

    def __init__(self, port: int, body: dict[str, Any], **headers: str) -> None:
        self.answer = Answer()
        self.arrivals: list[float] = []
        """When each piece of data came off the connection (monotonic seconds)."""
        self.pieces: list[int] = []
        """How many events began in each."""
        self.whole = False
        """It ended with `[DONE]` and the last chunk of HTTP."""
        self.broken = ""
        self._lock, self._text = threading.Lock(), bytearray()
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
        self._thread = threading.Thread(target=self._run, args=(body, headers), daemon=True)
        self._thread.start()

    @property
    def text(self) -> str:
        """What has arrived."""
        with self._lock:
            return self._text.decode()

    @property
    def events(self) -> list[str]:
        """What has arrived, event by event, without the last one when it is not yet whole."""
        return [piece.removeprefix("data: ") for piece in self.text.split("\n\n")[:-1]]

    @property
    def tokens(self) -> list[dict[str, Any]]:
        """The events that carry a token."""
        return [one for one in self._chunks if "token" in one or one["choices"][0]["delta"].get("content")]

    @property
    def counted(self) -> int:
        """How many tokens the engine says that it has sent: one that is a part of a letter has no text yet."""
        # the end alone is read: whoever looks often would else read all that has arrived each time
        with self._lock:
            end = self._text[-4096:].decode(errors="ignore")
        whole = [event.removeprefix("data: ") for event in end.split("\n\n")[:-1]]
        last = next((event for event in reversed(whole) if event.startswith("{")), None)
        return json.loads(last)["usage"]["completion_tokens"] if last else 0

    @property
    def _chunks(self) -> list[dict[str, Any]]:
        found = [json.loads(event) for event in self.events if event.startswith("{")]
        # the last one of an engine that counts has no choice
        return [one for one in found if one.get("choices") != []]

    @property
    def finish(self) -> str | None:
        """The engine's reason to end."""
        found = [one for one in self._chunks if "choices" in one]
        return found[-1]["choices"][0]["finish_reason"] if found else None

    def begun(self) -> "Stream":
        """Wait until some tokens have arrived."""
        until(lambda: len(self.arrivals) > 3 or not self._thread.is_alive(), "the stream does not begin")
        return self

    def join(self) -> "Stream":
        """Wait for its end."""
        self._thread.join(PATIENCE)
        assert not self._thread.is_alive(), "the stream does not end"
        return self

    @property
    def running(self) -> bool:
        """It has not ended."""
        return self._thread.is_alive()

    def leave(self) -> None:
        """Close the connection, as a client that is gone."""
        if self._connection.sock:
            self._connection.sock.shutdown(2)

    def _run(self, body: dict[str, Any], headers: dict[str, str]) -> None:
        try:
            self._connection.request(
                "POST", CHAT, json.dumps(body).encode(), {"Content-Type": "application/json", **headers}
            )
            answer = self._connection.getresponse()
            self.answer = Answer(answer.status, {name.lower(): value for name, value in answer.getheaders()})
            while piece := answer.read1(65536):
                self.arrivals.append(time.monotonic())
                self.pieces.append(piece.count(b"data: "))
                with self._lock:
                    self._text += piece
            self.answer.body = self.text
            self.whole = self.text.endswith("data: [DONE]\n\n") and answer.isclosed()
        except (OSError, http.client.HTTPException) as error:
            self.broken = type(error).__name__
        finally:
            self._connection.close()
