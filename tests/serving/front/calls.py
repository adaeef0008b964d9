"""Clients: each call runs in a thread of its own, and says at the end what the client saw."""

import http.client
import json
import socket
import threading
import time
from dataclasses import dataclass, field
from typing import Any

from tests.serving.front.pod import TOKEN, Pod

PATH = "/v1/chat/completions"


@dataclass
class Call:
    """What a client saw."""

    id: str
    status: int = 0
    """0: no answer at all."""
    complete: bool = False
    """The answer is whole, and is that to this request."""
    body: bytes = b""
    headers: dict[str, str] = field(default_factory=dict)
    began: float = 0.0
    seconds: float = 0.0
    arrivals: list[float] = field(default_factory=list)
    """Seconds between a token's departure and its arrival."""
    gone: bool = False
    thread: threading.Thread | None = None

    def join(self) -> "Call":
        assert self.thread
        self.thread.join(30)
        assert not self.thread.is_alive(), f"{self.id} has no answer"
        return self

    @property
    def refused(self) -> bool:
        return self.status == 503 and "retry-after" in self.headers and b'"error"' in self.body


class Client:
    """Makes calls to one pod."""

    def __init__(self, pod: Pod) -> None:
        self.pod, self.calls = pod, []
        self.ids = pod.ids()

    def call(
        self, *, trickle: float = 0.0, leave: float | None = None, timeout: float = 30.0, path: str = PATH, **body: Any
    ) -> Call:
        """Start a call. `trickle`: seconds that its body takes; `leave`: seconds after which the client goes."""
        call = Call(next(self.ids), gone=leave is not None)
        self.calls.append(call)
        call.thread = threading.Thread(target=self._run, args=(call, path, body, trickle, leave, timeout), daemon=True)
        call.thread.start()
        return call

    def plain(self, **body: Any) -> Call:
        """Make a call and wait for its answer."""
        return self.call(**body).join()

    def stream(self, tokens: int = 20, seconds: float = 0.03, **more: Any) -> Call:
        return self.call(stream=True, tokens=tokens, seconds=seconds, **more)

    def _run(
        self, call: Call, path: str, body: dict[str, Any], trickle: float, leave: float | None, timeout: float
    ) -> None:
        call.began = time.monotonic()
        connection = http.client.HTTPConnection("127.0.0.1", self.pod.port, timeout=timeout)
        try:
            data = json.dumps({"id": call.id, **body}).encode()
            connection.putrequest("POST", path)
            connection.putheader("Authorization", f"Bearer {TOKEN}")
            connection.putheader("Content-Length", str(len(data)))
            connection.endheaders()
            if trickle:
                for place in range(len(data)):
                    connection.send(data[place : place + 1])
                    time.sleep(trickle / len(data))
            else:
                connection.send(data)
            if leave is not None:
                time.sleep(leave)
                return
            answer = connection.getresponse()
            call.status, call.headers = answer.status, {n.lower(): v for n, v in answer.getheaders()}
            self._read(call, answer, body)
        except (OSError, http.client.HTTPException) as error:
            call.body += f" {type(error).__name__}: {error}".encode()
        finally:
            connection.close()
            call.seconds = time.monotonic() - call.began

    def _read(self, call: Call, answer: http.client.HTTPResponse, body: dict[str, Any]) -> None:
        if not body.get("stream") or call.status != 200:
            call.body = answer.read()
            call.complete = call.status != 200 or json.loads(call.body) == {
                **json.loads(call.body),
                "id": call.id,
                "tokens": 1,
            }
            return
        number = 0
        while line := answer.readline():
            now = time.monotonic()
            if line.startswith(b"data: {"):
                token = json.loads(line[6:])
                assert (token["id"], token["token"]) == (call.id, number)
                call.arrivals.append(now - token["at"])
                number += 1
            elif line.startswith(b"data: [DONE]"):
                call.complete = number == body["tokens"]

    def join(self) -> list[Call]:
        return [call.join() for call in self.calls]


def raw(pod: Pod, text: bytes) -> bytes:
    """Send these bytes, and return all until the end of the connection."""
    with socket.create_connection(("127.0.0.1", pod.port), timeout=10) as connection:
        connection.sendall(text)
        received = b""
        while piece := connection.recv(65536):
            received += piece
    return received


def status(pod: Pod, line: str, headers: str = "", rest: bytes = b"") -> int:
    """Return the status alone: nginx reads on for seconds what was announced, and throws it away."""
    with socket.create_connection(("127.0.0.1", pod.port), timeout=10) as connection:
        connection.sendall(f"{line} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n{headers}\r\n".encode() + rest)
        return int(connection.recv(65536).split()[1])


def check(pod: Pod, calls: list[Call]) -> None:
    """What holds whatever happens: each request once, to an engine that is awake, and no answer that is none."""
    recorded = pod.recorded()
    seen = [one["id"] for one in recorded if one["event"] == "request"]
    assert sorted(set(seen)) == sorted(seen), "the engine saw a request twice"
    assert [one["id"] for one in recorded if one.get("asleep")] == [], "a request reached a sleeping engine"
    assert [one for one in recorded if one["event"] == "slept twice"] == []
    for call in calls:
        if call.refused:
            assert call.id not in seen, f"{call.id} was refused and yet sent on"
        elif call.status == 200 and call.complete:
            assert seen.count(call.id) == 1
