"""Front proxy and agent over the real vLLM 0.26.0 on a CPU, by hand, after `tests.serving.scripts.real_engine`.

    python -m tests.serving.scripts.real_front FOLDER

It sleeps in name only there (nothing to free), so this shows the protocol: the paths, the gauges, the order of calls.
Two minutes, most of them for the start.
"""

import http.client
import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

from tests.engine_check import environment
from tests.serving.front.pod import TOKEN, Pod, until
from tests.serving.scripts import program

LONG = 1900
"""Tokens of an answer that takes seconds."""


class RealPod(Pod):
    """The same nginx and agent, and vLLM."""

    def __init__(self, folder: Path) -> None:
        super().__init__(poll=1, look=2, busy=0.1, lost=10)
        engine = environment.engine()
        self.home, self.model, self.binaries = folder / "home", engine / "model", engine / "venv/bin"

    def start_engine(self) -> None:
        served = ["--served-model-name", "tiny", "--host", "127.0.0.1", "--port", str(self.engine_port)]
        limits = ["--max-model-len", "2048", "--max-num-seqs", "8", "--enforce-eager", "--shutdown-timeout", "20"]
        self.run(
            "engine",
            *("env", f"PATH={self.binaries}:{os.environ['PATH']}"),
            *("vllm", "serve", str(self.model), *served, *limits),
            HOME=str(self.home),
            HF_HUB_OFFLINE="1",
            VLLM_CPU_KVCACHE_SPACE="1",
            VLLM_NO_USAGE_STATS="1",
            VLLM_SERVER_DEV_MODE="1",
        )

    def complete(self, tokens: int, found: list[int], leave: bool = False) -> None:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=120)
        body = {"model": "tiny", "prompt": "a b", "max_tokens": tokens, "stream": True, "ignore_eos": True}
        headers = {"Authorization": f"Bearer {TOKEN}", "Content-Type": "application/json"}
        connection.request("POST", "/v1/completions", json.dumps(body), headers)
        answer = connection.getresponse()
        text = answer.read(200) if leave else answer.read()
        connection.close()
        found.append(answer.status if b"[DONE]" in text or leave else 0)

    def several(self, count: int, tokens: int) -> tuple[list[threading.Thread], list[int]]:
        found: list[int] = []
        threads = [threading.Thread(target=self.complete, args=(tokens, found)) for _ in range(count)]
        for thread in threads:
            thread.start()
        return threads, found

    def running(self) -> float:
        return float(re.search(r"num_requests_running\{[^}]*\} (\S+)", self.get("/metrics")[1])[1])


def joined(threads: list[threading.Thread]) -> None:
    for thread in threads:
        thread.join(120)


def main(folder: Path) -> None:
    pod = RealPod(folder)
    try:
        began = time.monotonic()
        pod.start_engine()
        pod.start_agent()
        pod.start_nginx()
        until(lambda: pod.get("/ready")[0] == 200, "not ready", 300)
        print(f"ready after {time.monotonic() - began:.0f} s")

        pod.asleep()
        threads, found = pod.several(10, 20)
        joined(threads)
        expect("a sleeper wakes for ten at once", found == [200] * 10)

        threads, found = pod.several(3, LONG)
        until(lambda: pod.running() == 3, "the gauge does not follow")
        pod.control("/sleep")
        until(lambda: pod.state == "draining")
        joined(threads)
        expect("streams end before it falls asleep", found == [200] * 3)
        until(lambda: pod.state == "asleep")

        pod.complete(LONG, [], leave=True)
        until(lambda: pod.running() == 0 and pod.control("/state")["inFlight"] == 0, "it works for nobody")

        threads, found = pod.several(1, LONG)
        until(lambda: pod.running() == 1)
        subprocess.run([sys.executable, program("agent_stop"), str(pod.control_port), "1"], check=True)
        pod.kill("engine", signal.SIGTERM)
        joined(threads)
        expect("a stream outlives preStop and SIGTERM", found == [200] and pod.processes["engine"].wait(60) == 0)
        expect("the agent knows that the pod ends", pod.state == "stopping")
    finally:
        pod.close()


def expect(what: str, holds: bool) -> None:
    print(what, flush=True)
    if not holds:
        sys.exit("it does not")


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve())
