"""The pod of a check as others see it: clients at the proxy, `ops` at the agent, and the engine's own log."""

import json
import re
from dataclasses import dataclass
from typing import Any

from serving import front
from serving.engine import PORT
from serving.front.containers import AGENT, PROXY
from serving.pod import CONTAINER
from tests.engine_check.client import Answer, Stream, asked, call, until
from tests.engine_check.pod.kubelet import Kubelet
from tests.engine_check.pod.rendered import TOKEN, Scratch

ENGINE = CONTAINER
SIDECARS = (AGENT, PROXY)
BEARER = {"Authorization": f"Bearer {TOKEN}"}

START = 300
"""Seconds that an engine may take here: 60 with nothing compiled, 30 later, on two cores that have nothing else."""

_CALL = re.compile(r'"(GET|POST) (\S+) HTTP/1\.[01]" (\d+)')


@dataclass
class Scene:
    """One pod."""

    scratch: Scratch
    kubelet: Kubelet
    rate: float = 0.0
    """Tokens a second of one stream, once it has been measured."""
    running: Stream | None = None
    """A stream that one check leaves to the next one."""

    @property
    def port(self) -> int:
        """The Service's."""
        return self.scratch.port(PORT)

    @property
    def engine(self) -> int:
        """The engine's own port."""
        return self.scratch.port(front.ENGINE_PORT)

    def get(self, path: str, method: str = "GET", body: object = None, **headers: str) -> Answer:
        """Ask as a client."""
        return call(self.port, path, method, body, **headers)

    def stream(self, tokens: int) -> Stream:
        """Chat as a client."""
        return Stream(self.port, asked(tokens, stream=True), **BEARER)

    def lasting(self, seconds: float) -> Stream:
        """Chat for about so many seconds; the stream is with the engine when this returns."""
        stream = self.stream(min(16000, int(self.rate * seconds))).begun()
        until(lambda: self.control("/state")["inFlight"] > 0 or not stream.running, "the agent knows of no stream")
        return stream

    def served(self, tokens: int = 5) -> None:
        """Check that a client is served."""
        whole(self.stream(tokens).join(), tokens)

    def control(self, path: str) -> dict[str, Any]:
        """Ask the agent's control port."""
        answer = call(self.scratch.port(front.CONTROL_PORT), path, "GET" if path == "/state" else "POST")
        assert answer.status == 200, f"{path} at the control port: {answer.status} {answer.body}"
        found: dict[str, Any] = json.loads(answer.body)
        return found

    @property
    def state(self) -> str:
        """The agent's."""
        return str(self.control("/state")["state"])

    def reaches(self, *states: str) -> None:
        """Wait for a state."""
        until(lambda: self.state in states, f"the agent does not say {' or '.join(states)}")

    def sleeps(self) -> None:
        """Wait until it sleeps: the agent says so from the order on."""
        self.reaches("asleep")
        until(self.is_sleeping, "the agent says asleep, and the engine does not")

    def calls(self) -> list[str]:
        """Return what the engine says that it was asked, in order: `POST /v1/models 200`.

        It leaves out what the rendered --disable-access-log-for-endpoints names.
        """
        return [" ".join(found) for found in _CALL.findall(self.kubelet.log(ENGINE).read_text(errors="replace"))]

    def is_sleeping(self) -> bool:
        """Ask the engine itself."""
        return bool(json.loads(call(self.engine, "/is_sleeping").body)["is_sleeping"])

    def ready(self) -> bool:
        """As kubelet asks the pod."""
        return self.kubelet.probe(PROXY, "readiness").good


def whole(stream: Stream, tokens: int) -> None:
    """Check that a stream is all there."""
    seen = f"{stream.answer.status}, {len(stream.tokens)} tokens of {tokens}, {stream.finish}, {stream.broken}"
    assert (stream.answer.status, stream.whole, stream.finish) == (200, True, "length"), seen
    # a token may be part of a letter, and two that are there at once come in one event
    assert len(stream.text.split("\n\n")) >= tokens // 2, seen


def in_its_sleep(calls: list[str]) -> list[str]:
    """Return the requests of clients that a sleeping engine has seen.

    It says so when its answer begins, which for a stream is at once.
    """
    found, sleeping = [], False
    for one in calls:
        if one.startswith("POST /sleep"):
            sleeping = True
        elif one.startswith("POST /wake_up"):
            sleeping = False
        elif sleeping and one.startswith("POST /v1/"):
            found.append(one)
    return found
