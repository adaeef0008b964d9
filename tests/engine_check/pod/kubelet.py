"""What kubelet does with a pod, as far as the check needs it: starts containers, probes them, and ends them."""

import contextlib
import http.client
import os
import signal
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tests.engine_check.pod.rendered import Container


@dataclass(frozen=True)
class Answer:
    """Of a probe or a hook."""

    good: bool
    said: str


@dataclass
class Kubelet:
    """One pod. Each container runs in a session of its own, so that its end is the end of all that it started."""

    containers: Mapping[str, Container]
    logs: Path
    processes: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)

    def log(self, name: str) -> Path:
        """Return the log of a container, over all its starts."""
        return self.logs / f"{name}.log"

    def start(self, name: str) -> None:
        """Start a container, or start it again."""
        container = self.containers[name]
        self.logs.mkdir(parents=True, exist_ok=True)
        if name in self.processes:
            # one that did not end when it was told to must not outlive the check
            self._sweep(name)
        with self.log(name).open("ab") as log:
            self.processes[name] = subprocess.Popen(
                container.command,
                env=dict(container.env),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
                cwd="/",
            )

    def probe(self, name: str, kind: str) -> Answer:
        """Ask once, as the rendered probe asks."""
        container = self.containers[name]
        probe = container.probes[f"{kind}Probe"]
        if "exec" in probe:
            return self._exec(container, probe["exec"]["command"], probe["timeoutSeconds"])
        asked = probe["httpGet"]
        connection = http.client.HTTPConnection("127.0.0.1", asked["port"], timeout=probe["timeoutSeconds"])
        try:
            connection.request("GET", asked["path"])
            answer = connection.getresponse()
            return Answer(200 <= answer.status < 400, f"{answer.status} {answer.read().decode().strip()}")
        except (OSError, http.client.HTTPException) as error:
            return Answer(False, f"{type(error).__name__}: {error}")
        finally:
            connection.close()

    def before_stop(self, name: str) -> Answer:
        """Run the preStop hook to its end."""
        container = self.containers[name]
        return self._exec(container, container.before_stop, 120)

    def send(self, name: str, number: signal.Signals) -> None:
        """Send a signal to a container's first process."""
        self.processes[name].send_signal(number)

    def engine_process(self, name: str) -> int:
        """Return the pid of the child of a container's first process."""
        pid = self.processes[name].pid
        return int(Path(f"/proc/{pid}/task/{pid}/children").read_text().split()[0])

    @contextlib.contextmanager
    def stopped(self, name: str, title: str) -> Iterator[None]:
        """Stop the process of a container that has this title, for a while."""
        group = self.processes[name].pid
        (found,) = [
            int(path.parent.name)
            for path in Path("/proc").glob("[0-9]*/cmdline")
            if path.read_bytes().startswith(title.encode()) and os.getpgid(int(path.parent.name)) == group
        ]
        os.kill(found, signal.SIGSTOP)
        try:
            yield
        finally:
            os.kill(found, signal.SIGCONT)

    def ended(self, name: str, seconds: float) -> int:
        """Wait for the end of a container's first process; return its exit code, 128 + n for signal n.

        Raises:
            subprocess.TimeoutExpired: it has not ended.
        """
        code = self.processes[name].wait(seconds)
        self._sweep(name)
        return code if code >= 0 else 128 - code

    def close(self) -> None:
        """End everything."""
        for name, process in self.processes.items():
            self._sweep(name)
            process.wait()

    def _sweep(self, name: str) -> None:
        # what the first process of a container leaves behind ends with its process namespace
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.processes[name].pid, signal.SIGKILL)

    def _exec(self, container: Container, command: tuple[str, ...] | list[str], seconds: float) -> Answer:
        try:
            done = subprocess.run(
                command, env=dict(container.env), capture_output=True, text=True, check=False, timeout=seconds
            )
        except subprocess.TimeoutExpired:
            return Answer(False, f"no end within {seconds} s")
        return Answer(done.returncode == 0, done.stderr.strip())
