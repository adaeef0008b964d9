"""A plain start of each engine that there is for CPUs: its log read as `ops coldstart` does, itself asked by `ops`."""

import datetime
import json
import os
import subprocess
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from ops.coldstart.log import EngineStart, read
from tests.engine_check import environment
from tests.engine_check.client import until
from tests.engine_check.cluster_of_one import Cluster, cluster
from tests.engine_check.environment import Engine
from tests.serving.front.pod import free_ports

START = 300
"""Seconds that one may take on two busy cores."""

MODEL = "a-model"

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
            [str(it) for it in (*command, "--served-model-name", MODEL, "--max-num-seqs", 8)],
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


def asked(one: Cluster) -> dict[str, Callable[[], None]]:
    """What `ops` must say of a cluster whose pod is a real engine, by name."""

    def answers() -> None:
        done = one.ops("try", "--prompt", "Count.", "--max-tokens", "20", "--json")
        assert done.returncode == 0, done
        said = json.loads(done.stdout)
        assert (said["tokens"], said["finishReason"]) == (20, "length"), said
        assert 0 < said["firstTokenSeconds"] < said["seconds"], said
        assert said["tokensPerSecond"] > 1, said

    def refuses() -> None:
        done = one.ops("try", "--max-tokens", "100000")
        assert (done.returncode, done.stdout) == (1, ""), done
        assert "400" in done.stderr, done
        assert len(done.stderr.splitlines()) < 5, done

    def stands() -> None:
        done = one.ops("status", "--check", "--json")
        assert done.returncode == 0, done
        (row,) = json.loads(done.stdout)
        assert (row["state"], row["running"], row["waiting"], row["unseen"]) == ("ready", 0, 0, []), row

    return {
        "ops try shows its answer": answers,
        "ops try says what it refuses": refuses,
        "ops status reads its metrics": stands,
    }


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


def run(folder: Path, check: Callable[[str, Callable[[], None]], None]) -> None:
    """Start each version, and check all that is to be checked of it. `folder`: scratch."""
    for version in READ_AS:
        place = folder / f"start-{version}"
        with ExitStack() as ends:
            server = ends.enter_context(started(environment.engine(version), place / "home"))
            one = ends.enter_context(cluster(place / "stack", server.port, MODEL))
            for name, wanted in {**checks(version, server), **asked(one)}.items():
                check(f"vLLM {version}: {name}", wanted)
