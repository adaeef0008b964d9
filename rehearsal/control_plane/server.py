"""etcd and kube-apiserver on free loopback ports, ready in about three seconds, gone at the end."""

from __future__ import annotations

import contextlib
import secrets
import socket
import time
from collections.abc import Iterator
from pathlib import Path

from rehearsal.control_plane.client import ApiServer, Client, ControlPlaneError
from rehearsal.control_plane.process import running
from rehearsal.toolchain import etcd, kube_apiserver
from rehearsal.toolchain.executable import Executable

_READY_SECONDS = 30.0
_POLL_SECONDS = 0.05
# On a port that was taken from us may sit somebody who never answers.
_PROBE_SECONDS = 2.0
# Ports are free when they are chosen and may be taken a moment later.
_ATTEMPTS = 5
_TAKEN = "address already in use"


Programs = tuple[Executable, Executable]
"""etcd, kube-apiserver."""


class _PortTakenError(Exception):
    """Somebody was faster."""


def free_ports(count: int) -> list[int]:
    """Loopback ports that are free now, all different."""
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [int(each.getsockname()[1]) for each in sockets]


def find_programs() -> Programs:
    """The two programs, etcd first.

    What is missing is built first, which takes minutes, with progress on standard error. Raises ToolMissingError.
    """
    return etcd.find(), kube_apiserver.find()


@contextlib.contextmanager
def control_plane(place: Path, programs: Programs | None = None) -> Iterator[ApiServer]:
    """A new API server with an empty store, all of whose files are in `place`, a folder that is new or empty.

    Raises ToolMissingError and ControlPlaneError.
    """
    programs = programs or find_programs()
    # Absolute, because the programs run inside it.
    place = place.resolve()
    place.mkdir(parents=True, exist_ok=True)
    for attempt in range(_ATTEMPTS):
        with contextlib.ExitStack() as stack:
            try:
                server = _start(programs, place / f"attempt-{attempt + 1}", stack)
                _wait(server)
            except _PortTakenError:
                continue
            yield server
            return
    raise ControlPlaneError(f"no loopback port stayed free for a moment in {_ATTEMPTS} attempts")


def _start(programs: Programs, place: Path, stack: contextlib.ExitStack) -> ApiServer:
    store, api = programs
    certificates, tokens = place / "certificates", place / "tokens.csv"
    place.mkdir()
    token = secrets.token_urlsafe()
    tokens.touch(mode=0o600)
    tokens.write_text(f'{token},rehearsal,rehearsal,"system:masters"\n', encoding="utf-8")
    store_port, port = free_ports(2)
    # Both at once: the API server asks for its store until it is there.
    processes = (
        stack.enter_context(
            running(
                api, _api_flags(port, store_port, certificates, tokens), log=place / "kube-apiserver.log", home=place
            )
        ),
        stack.enter_context(
            running(store, _store_flags(store_port, place / "etcd"), log=place / "etcd.log", home=place)
        ),
    )
    return ApiServer(
        url=f"https://127.0.0.1:{port}",
        ca=certificates / "apiserver.crt",
        token=token,
        version=api.version,
        processes=processes,
    )


def _store_flags(port: int, data: Path) -> list[str]:
    # Nobody else joins it, so that port can be any.
    peers = "http://127.0.0.1:0"
    return [
        f"--data-dir={data}",
        "--unsafe-no-fsync",
        f"--listen-client-urls=http://127.0.0.1:{port}",
        f"--advertise-client-urls=http://127.0.0.1:{port}",
        f"--listen-peer-urls={peers}",
        f"--initial-advertise-peer-urls={peers}",
        f"--initial-cluster=default={peers}",
    ]


def _api_flags(port: int, store_port: int, certificates: Path, tokens: Path) -> list[str]:
    """All admission plugins that are on by default stay on."""
    # It writes a self-signed certificate first, whose key then signs the tokens of service accounts.
    key = certificates / "apiserver.key"
    return [
        f"--etcd-servers=http://127.0.0.1:{store_port}",
        # Should our store lose its port to that of another rehearsal, nothing is mixed up until we notice.
        f"--etcd-prefix=/{secrets.token_hex(8)}",
        f"--secure-port={port}",
        "--bind-address=127.0.0.1",
        # Otherwise it looks for a network interface, and on a plane there is none.
        "--advertise-address=127.0.0.1",
        "--endpoint-reconciler-type=none",
        f"--cert-dir={certificates}",
        "--service-account-issuer=https://kubernetes.default.svc",
        f"--service-account-signing-key-file={key}",
        f"--service-account-key-file={key}",
        # What EKS gives to services when the VPC has 10.0.0.0/8.
        "--service-cluster-ip-range=172.20.0.0/16",
        "--authorization-mode=RBAC",
        f"--token-auth-file={tokens}",
        "--anonymous-auth=false",
        # EKS allows it, kube-apiserver alone does not.
        "--allow-privileged=true",
    ]


def _wait(server: ApiServer) -> None:
    deadline = time.monotonic() + _READY_SECONDS
    while True:
        if problem := server.stopped():
            stopped = [process for process in server.processes if process.stopped()]
            if any(_TAKEN in process.log.read_text(encoding="utf-8", errors="replace") for process in stopped):
                raise _PortTakenError
            raise ControlPlaneError(problem)
        with Client(server, patience=_PROBE_SECONDS) as client:
            if client.is_ready():
                return
        if time.monotonic() > deadline:
            said = "; ".join(f"{process.title}: {process.last_lines()}" for process in server.processes)
            raise ControlPlaneError(f"the API server was not ready after {_READY_SECONDS:.0f} s; {said}")
        time.sleep(_POLL_SECONDS)
