"""Who is asked: the engine, or the stub that stands in for it in the tests."""

import asyncio
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from engine_client import EngineClient
from terms import Outcome, Step
from tests.engine_check.client import Answer, Stream, asked, call, until
from tests.serving.front import stub

STUB = Path(stub.__file__)
PATHS = ("sleep", "wake_up", "is_sleeping")
"""Of development mode."""


@dataclass(frozen=True, kw_only=True)
class Subject:
    """An engine, or what looks like one, on loopback."""

    port: int
    terminate: Callable[[], None]
    """Sends SIGTERM."""
    ended: Callable[[], int]
    """Waits for its end; returns the exit code."""

    def get(self, path: str, method: str = "GET", timeout: float = 60) -> Answer:
        """Ask past proxy and agent."""
        return call(self.port, path, method, timeout=timeout)

    def stream(self, tokens: int, seconds: float = 0.02) -> Stream:
        """Chat past proxy and agent. `seconds`: that the stub takes for a token."""
        return Stream(self.port, asked(tokens, stream=True, seconds=seconds))

    def running(self, tokens: int) -> Stream:
        """Return a stream that the engine counts, or one that has ended before it was seen."""
        stream = self.stream(tokens, 0.005)
        until(lambda: self.agent("count").value > 0 or not stream.running, "it is not counted")
        return stream

    def agent(self, step: Step) -> Outcome:
        """Ask as the agent asks, with the agent's own words for the answer."""
        return asyncio.run(EngineClient(self.port, {}).perform(step))

    def quiet(self) -> None:
        """Wait until nothing runs."""
        until(lambda: self.agent("count").value == 0, "something still runs")


class Stub:
    """The stub, as a process."""

    def __init__(self, port: int, record: Path, knobs: Mapping[str, Any]) -> None:
        self._process = subprocess.Popen([sys.executable, "-S", str(STUB), str(port), str(record)])
        self.subject = Subject(
            port=port,
            terminate=lambda: self._process.send_signal(signal.SIGTERM),
            ended=lambda: self._process.wait(60),
        )
        until(lambda: self.subject.get("/health").status == 200, "the stub does not start")
        if knobs:
            call(port, "/stub", "POST", knobs)

    def close(self) -> None:
        """End it."""
        self._process.kill()
        self._process.wait()


WITHOUT_DEVELOPMENT = {f"{path}_status": 404 for path in PATHS}
"""The stub's knobs for an engine that is not in development mode."""
