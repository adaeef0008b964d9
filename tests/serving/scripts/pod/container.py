"""A container of a server: wrapper, probe and stub engine over the cache root of a node."""

import contextlib
import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from tests.serving.scripts import program
from tests.serving.scripts.stands.stub_engine import STUB

DROPPED = re.compile(r"cache dropped: (?P<reason>[^;\n]+); aside: (?P<names>[^\n]+)")


class Pod:
    """One container on a node: its host name, its cache root, its starts."""

    def __init__(self, root: Path, host: str = "chat-0") -> None:
        self.root, self.host = root, host
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.started: list[subprocess.Popen[str]] = []

    def environment(self, **more: str) -> dict[str, str]:
        root = self.root
        return {
            "PATH": os.environ["PATH"],
            "HOSTNAME": self.host,
            "HOME": f"{root}/home",
            "VLLM_CACHE_ROOT": f"{root}/vllm",
            "FLASHINFER_WORKSPACE_BASE": f"{root}/flashinfer",
            "TRITON_CACHE_DIR": f"{root}/triton",
            "VLLM_ENGINE_READY_TIMEOUT_S": "1800",
            **more,
        }

    def start(self, *command: str, by: tuple[str, ...] = (), **more: str) -> subprocess.Popen[str]:
        """Start a command, or the stub engine; `by` is what starts the wrapper."""
        engine = command or (sys.executable, STUB, "/models", "--port", str(self.port))
        process = subprocess.Popen(
            [*by, sys.executable, program("wrapper"), str(self.root), *engine],
            env=self.environment(**more),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        self.started.append(process)
        return process

    def probe(self) -> int:
        command = [sys.executable, program("ready"), str(self.root), str(self.port)]
        return subprocess.run(command, env=self.environment(), check=False, capture_output=True).returncode

    def until_ready(self, process: subprocess.Popen[str], seconds: float = 15) -> None:
        end = time.monotonic() + seconds
        while self.probe() != 0:
            assert process.poll() is None, process.stdout.read()
            assert time.monotonic() < end
            time.sleep(0.05)

    def serves(self, *, by: tuple[str, ...] = (), **more: str) -> str:
        """Start, become ready, stop in order. Returns the log."""
        process = self.start(by=by, **more)
        self.until_ready(process)
        process.send_signal(signal.SIGTERM)
        log, _ = process.communicate(timeout=15)
        assert process.returncode == 0
        return log

    def dies(self, **more: str) -> str:
        """Start and die before it is ready. Returns the log."""
        process = self.start(**more)
        log, _ = process.communicate(timeout=15)
        assert process.returncode not in (0, None), log
        return log

    def kill(self) -> None:
        while self.started:
            process = self.started.pop()
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            process.stdout.close()

    @property
    def marks(self) -> list[str]:
        return sorted(path.name for path in self.root.glob(".starting-*"))

    @property
    def model(self) -> Path:
        (path,) = self.root.glob("vllm/torch_compile_cache/torch_aot_compile/*/rank_0_0/model")
        return path


def wait_for(condition: Callable[[], bool], seconds: float = 10) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.02)
