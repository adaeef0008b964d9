"""A plain start of each engine that there is for CPUs, whose log is read as `ops coldstart` reads a pod's."""

import datetime
import os
import subprocess
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from ops.coldstart.log import EngineStart, read
from tests.engine_check.client import until
from tests.engine_check.environment import Engine
from tests.serving.front.pod import free_ports

START = 300
"""Seconds that one may take on two busy cores."""

READ_AS = {"0.26.0": "0.26.0", "0.32.0": "0.33.0"}
"""Which version's log it is read as: 0.33.0 has no build for CPUs, and prints what 0.32.0 prints (`make parser-check`
finds every line in both 0.26.0 and 0.33.0)."""


class Started:
    """A server that listens, and what it said, with the stamps that a container runtime would put before it."""

    def __init__(self, engine: Engine, home: Path) -> None:
        self.port = free_ports(1)[0]
        self.lines: list[str] = []
        command = [engine.binaries / "vllm", "serve", engine.model, "--port", self.port, "--max-model-len", 1024]
        env = {
            "PATH": f"{engine.binaries}:{os.environ['PATH']}",
            "HOME": str(home),
            "VLLM_CACHE_ROOT": str(home / "vllm"),
            "VLLM_CPU_KVCACHE_SPACE": "1",
            "VLLM_NO_USAGE_STATS": "1",
            "HF_HUB_OFFLINE": "1",
        }
        self.began = time.time()
        self.process = subprocess.Popen(
            [str(it) for it in (*command, "--served-model-name", "m", "--max-num-seqs", 8)],
            env=env,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        threading.Thread(target=self._listen, daemon=True).start()
        until(self._serves, f"vLLM does not start: {self.lines[-3:]}", START)
        self.serves = time.time()

    def _listen(self) -> None:
        for line in self.process.stdout or ():
            now = datetime.datetime.now(datetime.UTC)
            self.lines.append(f"{now:%Y-%m-%dT%H:%M:%S.%f}000Z {line.decode(errors='replace').rstrip()}")

    def _serves(self) -> bool:
        assert self.process.poll() is None, f"vLLM ended: {self.lines[-5:]}"
        try:
            urllib.request.urlopen(f"http://127.0.0.1:{self.port}/health", timeout=2).close()
        except OSError:
            return False
        return True


@contextmanager
def started(engine: Engine, home: Path) -> Iterator[Started]:
    """One that is ended in the end."""
    home.mkdir(parents=True)
    server = Started(engine, home)
    try:
        yield server
    finally:
        server.process.terminate()
        server.process.wait(60)


def checks(version: str, server: Started) -> dict[str, Callable[[], None]]:
    """What must hold of its log, by name."""
    found: EngineStart = read(server.lines, READ_AS[version])

    def phases() -> None:
        # a CPU's worker prints no end of compile, and has neither graphs nor kernels
        assert list(found.spans) == ["imports", "model inspection", "engine imports", "weights", "API start"], found

    def serving() -> None:
        assert found.serving is not None, found.notes
        # until is asked every half second, and health is asked over a busy machine
        assert abs(found.serving - server.serves) < 3, (found.serving, server.serves)

    def gap() -> None:
        weights, after = found.spans["weights"], found.spans["API start"]
        silent = after.begin - weights.end
        assert abs(silent - found.said["engine init"]) < 3, (silent, found.said)

    def compiled() -> None:
        assert (found.clock, found.compile, found.restarts) == ("runtime", "miss", 0), found

    return {
        "the log shows the phases of a start": phases,
        "it serves when the log says so": serving,
        "what the engine's init takes, of which a CPU tells nothing, is in no phase": gap,
        "a first start is a miss": compiled,
    }
