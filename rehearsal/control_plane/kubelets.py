"""Nodes whose kubelets are kwok's: they become Ready, and answer the API server for logs and port-forwards.

What a log says and where a port leads are objects of the API server (`Logs`, `PortForward` of kwok.x-k8s.io, one of
each for a pod, of its name and namespace). kwok's port-forward is kubelet's own streaming code.
"""

from __future__ import annotations

import contextlib
import fnmatch
import json
import socket
import time
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rehearsal.control_plane import crds
from rehearsal.control_plane.client import ApiServer, Client, ControlPlaneError
from rehearsal.control_plane.discovery import Discovery
from rehearsal.control_plane.installation import install
from rehearsal.control_plane.process import Process, running
from rehearsal.control_plane.server import free_ports
from rehearsal.toolchain import golang, kwok
from rehearsal.toolchain.executable import required_version

NODE_STAGES = ("kustomize/stage/node/fast/node-*.yaml", "kustomize/stage/node/heartbeat-with-lease/node-*.yaml")
POD_STAGES = ("kustomize/stage/pod/fast/pod-*.yaml",)
"""kwok's own, inside its module: nodes become Ready; pods on them run at once."""

API = "kwok.x-k8s.io/v1alpha1"
_KINDS = ("Logs", "PortForward")
_LABEL = "rehearsal/kubelets"
_READY_SECONDS = 20.0
_POLL_SECONDS = 0.05
# What kubelet renews its lease for.
_LEASE_SECONDS = 40


@dataclass(frozen=True, kw_only=True)
class Kubelets:
    """A kwok that runs."""

    labels: Mapping[str, str]
    """Nodes with these are its own."""
    process: Process

    def node(self, name: str, **labels: str) -> dict[str, Any]:
        """Return a Node that is to be one of its own; the API server makes it, kwok makes it Ready."""
        metadata = {"name": name, "labels": {**labels, **self.labels}}
        return {"apiVersion": "v1", "kind": "Node", "metadata": metadata}


@contextlib.contextmanager
def kubelets(
    server: ApiServer, place: Path, *, name: str = "kwok", stages: Sequence[str] = (), kwok_stages: Sequence[str] = ()
) -> Iterator[Kubelets]:
    """Play the kubelets of the nodes that have `Kubelets.labels`.

    Args:
        server: whose nodes they are.
        place: a folder that is new or empty.
        name: tells one from another at the same API server.
        stages: texts of Stage objects beside those.
        kwok_stages: patterns of files in kwok's module; none: NODE_STAGES.

    Raises:
        ToolMissingError: there is no kwok.
        CrdError: its kinds or stages cannot be had.
        ControlPlaneError: it does not start.
    """
    program = kwok.find()
    # Absolute, because the program runs inside it.
    place = place.resolve()
    place.mkdir(parents=True, exist_ok=True)
    source = _source("kustomize/crd/bases/*.yaml")
    with Client(server) as client:
        install(client, Discovery(client), [(API, kind) for kind in _KINDS], None, {"kwok.x-k8s.io": source})
    texts = [*stages, *(text for pattern in kwok_stages or NODE_STAGES for text in _texts(_source(pattern)))]
    (place / "stages.yaml").write_text("\n---\n".join(texts), encoding="utf-8")
    kubeconfig = place / "kubeconfig"
    kubeconfig.touch(mode=0o600)
    kubeconfig.write_text(json.dumps(server.kubeconfig()), encoding="utf-8")
    (port,) = free_ports(1)
    flags = [
        f"--kubeconfig={kubeconfig}",
        f"--config={place / 'stages.yaml'}",
        f"--enable-crds={','.join(_KINDS)}",
        f"--manage-nodes-with-label-selector={_LABEL}={name}",
        "--node-ip=127.0.0.1",
        f"--node-port={port}",
        f"--server-address=127.0.0.1:{port}",
        f"--node-lease-duration-seconds={_LEASE_SECONDS}",
    ]
    with running(program, flags, log=place / "kwok.log", home=place) as process:
        _wait(process, port)
        yield Kubelets(labels={_LABEL: name}, process=process)


def _source(files: str) -> crds.Source:
    """What kwok's module has under a pattern, at the version that is built and with the checksum of its go.sum."""
    version = f"v{required_version(kwok.MODULE, kwok.PACKAGE)}"
    lines = (kwok.MODULE / "go.sum").read_text(encoding="utf-8").splitlines()
    (checksum,) = [line.split()[2] for line in lines if line.startswith(f"{kwok.PACKAGE} {version} ")]
    return crds.Source(module=kwok.PACKAGE, version=version, checksum=checksum, files=files)


def _texts(source: crds.Source) -> list[str]:
    """Raises CrdError."""
    try:
        path = golang.module_zip(source.module, source.version, wanted=golang.needed(kwok.MODULE))
    except golang.BuildError as failure:
        raise crds.CrdError(f"the stages of {source.title} could not be had: {failure}") from failure
    with zipfile.ZipFile(path) as archive:
        if crds.checksum(archive) != source.checksum:
            raise crds.CrdError(f"{path} is not what go.sum of {kwok.MODULE} names")
        pattern = f"{source.module}@{source.version}/{source.files}"
        names = [name for name in sorted(archive.namelist()) if fnmatch.fnmatchcase(name, pattern)]
        return [archive.read(name).decode() for name in names]


def _wait(process: Process, port: int) -> None:
    deadline = time.monotonic() + _READY_SECONDS
    while True:
        if problem := process.stopped():
            raise ControlPlaneError(problem)
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
            return
        if time.monotonic() > deadline:
            raise ControlPlaneError(f"kwok was not there after {_READY_SECONDS:.0f} s; {process.last_lines()}")
        time.sleep(_POLL_SECONDS)
