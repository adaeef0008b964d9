"""A pod on loopback: the stub engine, the agent, and the real nginx with the configuration and the entry of the pod."""

import contextlib
import http.client
import itertools
import json
import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from serving.front.nginx import Addresses, nginx_conf
from serving.front.settings import FrontSettings
from serving.front.tokens import token_map
from tests.serving.scripts import program

STUB = str(Path(__file__).with_name("stub.py"))
ENTRY = str(Path(__file__).parents[3] / "serving/front/entry.sh")
TOKEN = "Secret-token-of-the-tests-0123456789"  # noqa: S105 - of the tests
OTHER = "another.token+of/the~tests-9876543210=="
QUICK = {
    "idle": 3600,
    "hold": 8,
    "drain": 20,
    "silent": 1,
    "settle": 0.2,
    "poll": 0.05,
    "look": 0.2,
    "retry": 0.5,
    "busy": 0.01,
    "wake-limit": 8,
    "lost": 0.6,
    "period": 0.2,
}
"""Seconds. Idle falls asleep only where a test says so."""


def free_ports(count: int) -> list[int]:
    """Below those that the kernel gives to clients: a port that is free now must be free when its server restarts."""
    found: list[int] = []
    with contextlib.ExitStack() as stack:
        while len(found) < count:
            port = random.SystemRandom().randrange(12000, 32000)
            each = stack.enter_context(socket.socket())
            with contextlib.suppress(OSError):
                each.bind(("127.0.0.1", port))
                found.append(port)
    return found


def until(condition: Callable[[], object], what: str = "", seconds: float = 20) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, what or condition
        time.sleep(0.01)


class Pod:
    def __init__(self, *, sleeps: bool = True, token: bool = True, front: dict[str, Any] | None = None, **limits: Any):
        assert shutil.which("nginx"), "nginx is not on PATH: apt-get install nginx-light (.ci/run does)"
        # nginx's workers are another user's when a root starts it: they come through no private folder
        self.folder = Path(tempfile.mkdtemp(prefix="vllm-eks-front-"))
        self.folder.chmod(0o755)
        self.sleeps, self.limits = sleeps, {**QUICK, **limits}
        self.port, self.engine_port, self.gate_port, self.control_port = free_ports(4)
        self.record, self.log = self.folder / "record", self.folder / "log"
        self.agent_folder, self.tokens = self.folder / "agent", self.folder / "tokens.map"
        self.agent_folder.mkdir()
        self.tokens.write_text(token_map([TOKEN]))
        self.conf = self.folder / "nginx.conf"
        addresses = Addresses(
            listen=f"127.0.0.1:{self.port}",
            engine=f"127.0.0.1:{self.engine_port}",
            gate=f"127.0.0.1:{self.gate_port}" if sleeps else None,
            tokens=str(self.tokens) if token else None,
            folder=str(self.folder / "front"),
        )
        (self.folder / "front").mkdir()
        self.conf.write_text(nginx_conf(addresses, FrontSettings.model_validate(front or {}), int(self.limits["hold"])))
        self.processes: dict[str, subprocess.Popen[bytes]] = {}
        self.numbers = itertools.count()

    # processes

    def run(self, name: str, *command: str, **environment: str) -> None:
        log = self.log.open("ab")
        self.processes[name] = subprocess.Popen(
            command,
            stdout=log,
            stderr=log,
            stdin=subprocess.DEVNULL,
            env={"PATH": os.environ["PATH"], **environment},
            start_new_session=True,
        )
        log.close()

    def start(self) -> "Pod":
        self.start_engine()
        if self.sleeps:
            self.start_agent()
        self.start_nginx()
        return self.until_ready()

    def until_ready(self) -> "Pod":
        until(lambda: self.get("/ready" if self.sleeps else "/health")[0] == 200, "the pod is not ready")
        return self

    def start_engine(self) -> None:
        self.run("engine", sys.executable, "-S", STUB, str(self.engine_port), str(self.record))

    def start_agent(self, *more: str, **environment: str) -> None:
        limits = [f"--{name}={value}" for name, value in self.limits.items()]
        ports = [f"--engine={self.engine_port}", f"--gate={self.gate_port}", f"--control={self.control_port}"]
        wake = [] if any(one.startswith("--wake=") for one in more) else ["--wake=on-request"]
        folders = [f"--folder={self.agent_folder}", f"--verdict={self.agent_folder}/unwakeable"]
        self.run(
            "agent", sys.executable, "-S", program("agent"), *ports, *folders, *wake, *limits, *more, **environment
        )

    def start_nginx(self, *before: str) -> None:
        arguments = [str(self.conf), str(self.folder / "front"), str(self.tokens)]
        self.run("nginx", *before, "sh", ENTRY, *arguments, TOKENS_PERIOD="0.1")

    def kill(self, name: str, number: int = signal.SIGKILL) -> None:
        process = self.processes[name]
        with contextlib.suppress(ProcessLookupError):
            process.send_signal(number)
        if number == signal.SIGKILL:
            process.wait()

    def close(self) -> None:
        for process in self.processes.values():
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)

    # as others see it

    def get(self, path: str, port: int | None = None, method: str = "GET", **headers: str) -> tuple[int, str]:
        connection = http.client.HTTPConnection("127.0.0.1", port or self.port, timeout=10)
        try:
            connection.request(method, path, headers={"Content-Length": "0", **headers})
            answer = connection.getresponse()
            return answer.status, answer.read().decode()
        except OSError as error:
            return 0, str(error)
        finally:
            connection.close()

    def knobs(self, **knobs: Any) -> None:
        connection = http.client.HTTPConnection("127.0.0.1", self.engine_port, timeout=10)
        connection.request("POST", "/stub", json.dumps(knobs))
        assert connection.getresponse().status == 200
        connection.close()

    def control(self, path: str) -> dict[str, Any]:
        status, text = self.get(path, self.control_port, "GET" if path == "/state" else "POST")
        assert status == 200, text
        return json.loads(text)

    @property
    def state(self) -> str:
        return self.control("/state")["state"]

    def asleep(self) -> "Pod":
        self.control("/sleep")
        until(lambda: self.state == "asleep" and not self.calls_pending(), "it does not fall asleep")
        return self

    def calls_pending(self) -> bool:
        """Whether the engine has not yet been seen asleep."""
        return "true" not in self.get("/is_sleeping", self.engine_port)[1]

    def recorded(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.record.read_text().splitlines()] if self.record.exists() else []

    def orders(self) -> list[str]:
        return [one["path"] for one in self.recorded() if one.get("method") == "POST"]

    def ids(self) -> Iterator[str]:
        return (f"r{number}" for number in self.numbers)
