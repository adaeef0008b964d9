"""What everybody in the cluster may do: ask five questions, and neither fill the disk nor take the proxy down."""

import contextlib
import os
import signal
import socket
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from serving.front import FOLDER, containers
from tests.serving.front.calls import PATH, status
from tests.serving.front.pod import TOKEN, Pod, until

MIB = 1024 * 1024
KNOWN = f"Authorization: Bearer {TOKEN}\r\n"


@pytest.fixture(params=[True, False], ids=["with the agent", "alone"])
def pod(request: pytest.FixtureRequest, pods: Callable[..., Pod]) -> Pod:
    return pods(sleeps=request.param).start()


def paths(pod: Pod) -> list[str]:
    return ["/health", "/metrics", "/front/alive", *(["/ready", "/agent/metrics"] if pod.sleeps else [])]


def kept(pod: Pod) -> int:
    """Bytes of bodies on disk."""
    return sum(file.stat().st_size for file in (pod.folder / "front/client_body").rglob("*") if file.is_file())


def test_an_open_path_takes_no_method_that_could_change_anything(pod: Pod) -> None:
    pod.record.write_text("")
    for path in paths(pod):
        for headers in ("", KNOWN):
            for method in ("POST", "PUT", "PATCH", "DELETE", "OPTIONS"):
                assert status(pod, f"{method} {path}", headers) == 405, (method, path)
            for method in ("GET", "HEAD"):
                assert status(pod, f"{method} {path}", headers) == 200, (method, path)
    assert {one["method"] for one in pod.recorded()} <= {"GET", "HEAD"}


def test_an_open_path_keeps_nothing_of_a_body_and_waits_for_none(pod: Pod) -> None:
    """20 bodies of 10 MiB without a token were 198 MiB of files; a byte now and then held a connection for ever."""
    part = b"x" * MIB
    for path in paths(pod):
        # the body is never sent whole: an answer is one that has not waited for it
        assert status(pod, f"POST {path}", "Content-Length: 10485760\r\n", part) == 405
        assert status(pod, f"GET {path}", "Content-Length: 10485760\r\n", part) == 400
        assert status(pod, f"GET {path}", "Content-Length: 1\r\n") == 400
        assert status(pod, f"GET {path}", "Transfer-Encoding: chunked\r\n", b"100000\r\n" + part) == 400
        assert status(pod, f"GET {path}", "Content-Length: 0\r\n") == 200
        assert kept(pod) == 0, path


@pytest.mark.parametrize("headers", ["", KNOWN], ids=["nobody", "a client"])
def test_an_open_path_is_sent_on_only_as_it_is_spelt(pod: Pod, headers: str) -> None:
    """What nginx compares is the path that it has cleaned, and what it sends on the one that was written."""
    pod.record.write_text("")
    for path in paths(pod):
        name = path.removeprefix("/")
        spellings = (f"/tokenize/..{path}", f"/.{path}", f"/{path}", f"/%{ord(name[0]):x}{name[1:]}", f"{path}#x")
        for spelt in spellings:
            assert status(pod, f"GET {spelt}", headers) == 404, spelt
        assert status(pod, f"GET {path}?x=/../y", headers) == 200
    # the agent asks whether it sleeps
    assert {one["path"].partition("?")[0] for one in pod.recorded()} <= {"/health", "/metrics", "/is_sleeping"}


def test_clients_that_use_all_connections_up_do_not_have_the_proxy_restarted(pods: Callable[..., Pod]) -> None:
    """A restart would cut every stream that runs. Not ready it is, and its log says why, without what was asked."""
    pod = pods(sleeps=False, front={"connections": 256}).start()
    command = containers.proxy_container("image", sleeps=False, tokens=True)["livenessProbe"]["exec"]["command"]
    probe = [item.replace(FOLDER, str(pod.folder / "front")) for item in command]
    head = f"POST {PATH}?key=in-the-query HTTP/1.1\r\nHost: x\r\n{KNOWN}Content-Length: 2\r\n\r\nx".encode()
    with contextlib.ExitStack() as stack:
        clients: list[socket.socket] = []
        unanswered = 0
        while unanswered < 5:  # in a row: of two workers one may be full before the other
            assert len(clients) < 6000
            for _ in range(50):
                clients.append(stack.enter_context(socket.create_connection(("127.0.0.1", pod.port))))
                # at once: to make room nginx closes connections on which nothing has come. It refuses the last ones
                with contextlib.suppress(ConnectionError):
                    clients[-1].sendall(head)
            unanswered = unanswered + 1 if pod.get("/front/alive")[0] == 0 else 0
        assert "worker_connections are not enough" in pod.log.read_text()
        assert subprocess.run(probe, check=False, timeout=5).returncode == 0
        # now each wants a connection to the engine too
        for client in clients:
            with contextlib.suppress(ConnectionError):
                client.sendall(b"x")
        until(lambda: '"status":500' in pod.log.read_text())
        assert "in-the-query" not in pod.log.read_text()
    os.killpg(pod.processes["nginx"].pid, signal.SIGKILL)
    until(lambda: subprocess.run(probe, check=False, timeout=5, stderr=subprocess.DEVNULL).returncode != 0)


def test_a_worker_may_open_what_its_connections_need_whatever_it_was_started_with(pods: Callable[..., Pod]) -> None:
    """Each may have a file with a body beside it."""
    pod = pods(front={"connections": 777})
    pod.start_engine()
    pod.start_agent()
    pod.start_nginx("sh", "-c", 'ulimit -Sn 300; exec "$@"', "sh")
    until(lambda: pod.get("/ready")[0] == 200)
    master = int((pod.folder / "front/nginx.pid").read_text())
    workers = Path(f"/proc/{master}/task/{master}/children").read_text().split()
    assert len(workers) == 2
    for worker in workers:
        (line,) = [it for it in Path(f"/proc/{worker}/limits").read_text().splitlines() if "Max open files" in it]
        assert int(line.split()[3]) > 2 * 777
