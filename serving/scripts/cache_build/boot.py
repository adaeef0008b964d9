"""One start of the engine for a cache build: until it is ready, then an ordered stop. Its log is passed on and read."""

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Sequence

import health
from engine_log import Start

STOP_LIMIT = 120
"""Seconds from SIGTERM to SIGKILL: pinned memory and CUDA contexts take seconds, a drain has nothing to wait for."""
POLL = 0.2
_ANSWER = 5.0
"""Seconds for an answer of /health."""


class BootError(Exception):
    """The engine did not become ready, or did not stop in order. The message is one line."""


def boot(command: Sequence[str], version: str, port: int, limit: float) -> tuple[Start, float]:
    """Start the engine, wait until it is ready, stop it, and return what its log says and the seconds to readiness.

    Raises:
        BootError: it died, or was not ready within the limit, or had to be killed.
    """
    start = Start(version)
    began = time.monotonic()
    # a group of its own: the API server may leave an EngineCore behind that still writes
    process = subprocess.Popen(  # noqa: S603 - the command of the Job
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True
    )
    reader = threading.Thread(target=_read, args=(process, start, began), daemon=True)
    reader.start()
    try:
        seconds = _ready(process, port, began, limit)
        process.send_signal(signal.SIGTERM)
        try:
            code = process.wait(STOP_LIMIT)
        except subprocess.TimeoutExpired:
            raise BootError(f"still running {STOP_LIMIT} s after SIGTERM") from None
        if code != 0:
            # what it wrote on its way out may be half of something
            raise BootError(f"exit code {code} after SIGTERM")
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        reader.join(10)
    return start, seconds


def _ready(process: "subprocess.Popen[bytes]", port: int, began: float, limit: float) -> float:
    while True:
        if process.poll() is not None:
            raise BootError(
                f"exit code {process.returncode} after {time.monotonic() - began:.0f} s, before it was ready"
            )
        if not health.problem(port, _ANSWER):
            return time.monotonic() - began
        if time.monotonic() - began > limit:
            raise BootError(f"not ready after {limit:.0f} s")
        time.sleep(POLL)


def _read(process: "subprocess.Popen[bytes]", start: Start, began: float) -> None:
    assert process.stdout is not None  # noqa: S101 - for the type checker
    for raw in process.stdout:
        sys.stdout.buffer.write(raw)
        sys.stdout.buffer.flush()
        # progress bars end with a carriage return
        for line in raw.decode(errors="replace").replace("\r", "\n").split("\n"):
            start.read(line, time.monotonic() - began)
