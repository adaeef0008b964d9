"""The control plane starts whatever ports are taken, dies loudly, and leaves nothing behind."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from rehearsal.control_plane import server as servers
from rehearsal.control_plane.admission import admit
from rehearsal.control_plane.client import ApiServer, Client, ControlPlaneError
from rehearsal.control_plane.server import control_plane, free_ports
from rehearsal.toolchain import etcd, kube_apiserver
from rehearsal.toolchain.executable import Executable
from tests.rehearsal.conftest import ROOT, wait_for
from tests.rehearsal.control_plane.conftest import processes
from tests.rehearsal.control_plane.objects import manifests, namespace


def fake(folder: Path, name: str, script: str) -> Executable:
    path = folder / name
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return Executable(path=path, version="1.36.3")


def pid_of(name: str, server: ApiServer) -> int:
    """The process id of kube-apiserver or etcd of one control plane."""
    place = str(server.ca.parents[1])
    listed = subprocess.run(["ps", "-A", "-ww", "-o", "pid=,args="], capture_output=True, text=True, check=True)
    (line,) = [
        line for line in listed.stdout.splitlines() if place in line and f"/{name} " in line and "keeper.py" not in line
    ]
    return int(line.split()[0])


def test_free_ports_differ():
    ports = free_ports(20)
    assert len(set(ports)) == 20


def test_a_server_that_stops_at_once_says_why(tmp_path, monkeypatch):
    tool = fake(tmp_path, "kube-apiserver", "echo 'Error: unknown flag: --secure-port' >&2; exit 1")
    monkeypatch.setattr(kube_apiserver, "find", lambda: tool)
    monkeypatch.setattr(etcd, "find", lambda: fake(tmp_path, "etcd", "sleep 60"))
    with pytest.raises(ControlPlaneError) as caught, control_plane(tmp_path / "place"):
        pass
    assert str(caught.value) == (
        "kube-apiserver v1.36.3 stopped (exit 1); last lines: Error: unknown flag: --secure-port"
    )
    assert processes(str(tmp_path)) == []


def test_a_server_that_is_never_ready_says_what_it_wrote_last(tmp_path, monkeypatch):
    monkeypatch.setattr(servers, "_READY_SECONDS", 1.0)
    monkeypatch.setattr(kube_apiserver, "find", lambda: fake(tmp_path, "kube-apiserver", "echo thinking; sleep 60"))
    monkeypatch.setattr(etcd, "find", lambda: fake(tmp_path, "etcd", "sleep 60"))
    with pytest.raises(ControlPlaneError) as caught, control_plane(tmp_path / "place"):
        pass
    assert str(caught.value) == (
        "the API server was not ready after 1 s; kube-apiserver v1.36.3: last lines: thinking; "
        "etcd v1.36.3: it wrote nothing"
    )


def test_ports_that_are_never_free_end_in_one_line(tmp_path, monkeypatch):
    tool = fake(tmp_path, "kube-apiserver", "echo 'listen tcp 127.0.0.1:1: bind: address already in use'; exit 1")
    monkeypatch.setattr(kube_apiserver, "find", lambda: tool)
    monkeypatch.setattr(etcd, "find", lambda: fake(tmp_path, "etcd", "sleep 60"))
    with pytest.raises(ControlPlaneError) as caught, control_plane(tmp_path / "place"):
        pass
    assert str(caught.value) == "no loopback port stayed free for a moment in 5 attempts"


def test_it_is_ready_in_seconds_with_what_every_cluster_has(programs, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    started = time.monotonic()
    with control_plane(Path("place")) as server:
        # Three seconds on an idle machine; the tests may not be alone.
        assert time.monotonic() - started < 15
        with Client(server) as client:
            assert client.get("/version").body["gitVersion"] == f"v{server.version}"
            listed = client.get("/api/v1/namespaces").body["items"]
        assert {"default", "kube-system"} <= {each["metadata"]["name"] for each in listed}
        assert [process.log.name for process in server.processes] == ["kube-apiserver.log", "etcd.log"]
        ended = time.monotonic()
    assert time.monotonic() - ended < 2
    assert processes(str(tmp_path)) == []


def test_only_who_has_the_token_gets_an_answer(server):
    stranger = ApiServer(url=server.url, ca=server.ca, token="x", version="", processes=server.processes)  # noqa: S106 - no credential
    with Client(stranger) as client:
        assert client.get("/api/v1/namespaces").status == 401
    token = server.ca.parents[1] / "tokens.csv"
    assert token.stat().st_mode & 0o077 == 0


def test_a_port_that_is_taken_in_the_meantime_is_replaced(programs, tmp_path, monkeypatch):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        (free,) = free_ports(1)
        chosen = iter([[port, free], [free, port]])
        monkeypatch.setattr(servers, "free_ports", lambda count: next(chosen, None) or free_ports(count))
        with control_plane(tmp_path) as server:
            assert admit(server, manifests(namespace("a"))).refusals == ()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["attempt-1", "attempt-2", "attempt-3"]


def test_two_at_once_know_nothing_of_each_other(programs, tmp_path):
    def run(name: str) -> list[str]:
        with control_plane(tmp_path / name) as server:
            assert admit(server, manifests(namespace(name))).refusals == ()
            time.sleep(1)
            with Client(server) as client:
                return [each["metadata"]["name"] for each in client.get("/api/v1/namespaces").body["items"]]

    with ThreadPoolExecutor() as pool:
        one, other = pool.map(run, ["one", "other"])
    assert ("one" in one, "other" in one) == (True, False)
    assert ("one" in other, "other" in other) == (False, True)


@pytest.mark.parametrize(("name", "program"), [("kube-apiserver", kube_apiserver), ("etcd", etcd)])
def test_a_process_that_dies_in_the_middle_ends_in_one_line(programs, tmp_path, name, program):
    with control_plane(tmp_path) as server, Client(server) as client:
        assert client.get("/readyz").ok
        os.kill(pid_of(name, server), signal.SIGKILL)
        for call in (lambda: client.get("/readyz"), lambda: admit(server, manifests(namespace("a")))):
            with pytest.raises(ControlPlaneError) as caught:
                again_and_again(call)
            said = str(caught.value)
            assert said.startswith(f"{name} v{program.find().version} stopped (exit 137); last lines: ")
            assert "\n" not in said


def again_and_again(call):
    """The first call may be faster than the signal."""
    for _ in range(100):
        call()


PARENT = """
import pathlib, sys, time
from rehearsal.control_plane.server import control_plane
with control_plane(pathlib.Path(sys.argv[1])):
    print("ready", flush=True)
    time.sleep(120)
"""


def test_a_killed_rehearsal_leaves_no_process(programs, tmp_path):
    parent = subprocess.Popen(
        [sys.executable, "-c", PARENT, str(tmp_path)], cwd=ROOT, stdout=subprocess.PIPE, text=True
    )
    with parent:
        assert parent.stdout is not None
        assert parent.stdout.readline() == "ready\n"
        # Two programs and their keepers, beside the parent itself.
        assert len(processes(str(tmp_path))) == 5
        parent.kill()
    wait_for(lambda: processes(str(tmp_path)) == [])
