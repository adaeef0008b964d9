"""kube-controller-manager and kube-scheduler beside an API server: Deployments make pods, and pods get nodes."""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import Iterator
from pathlib import Path

from rehearsal.control_plane.client import ApiServer, Client, ControlPlaneError
from rehearsal.control_plane.process import Process, running
from rehearsal.toolchain import controllers
from rehearsal.toolchain.executable import Executable

_READY_SECONDS = 30.0
_POLL_SECONDS = 0.1

Programs = tuple[Executable, Executable]
"""kube-controller-manager, kube-scheduler."""

# The last thing that the controller manager does before it serves: it works then.
_WORKS = "/api/v1/namespaces/kube-system/serviceaccounts/default"


def find_programs() -> Programs:
    """The two programs, the controller manager first.

    What is missing is built first, which takes minutes, with progress on standard error. Raises ToolMissingError.
    """
    return controllers.find_controller_manager(), controllers.find_scheduler()


@contextlib.contextmanager
def controlled(server: ApiServer, place: Path, programs: Programs | None = None) -> Iterator[tuple[Process, ...]]:
    """Both programs, working, with all their files in `place`, a folder that is new or empty.

    Nobody plays kubelet: pods are bound to nodes and stay pending there, and a node whose lease is not renewed for 50 s
    is taken for lost. Raises ToolMissingError and ControlPlaneError.
    """
    manager, scheduler = programs or find_programs()
    place = place.resolve()
    place.mkdir(parents=True, exist_ok=True)
    access = place / "kubeconfig"
    access.touch(mode=0o600)
    access.write_text(json.dumps(server.kubeconfig()), encoding="utf-8")
    # No port of their own, nobody to elect: there is one of each.
    common = [f"--kubeconfig={access}", "--secure-port=0", "--leader-elect=false"]
    key = server.ca.with_suffix(".key")
    managing = [*common, f"--service-account-private-key-file={key}", f"--root-ca-file={server.ca}"]
    with contextlib.ExitStack() as stack:
        processes = tuple(
            stack.enter_context(running(program, flags, log=place / f"{program.path.name}.log", home=place))
            for program, flags in ((manager, managing), (scheduler, common))
        )
        _wait(server, processes)
        yield processes


def _wait(server: ApiServer, processes: tuple[Process, ...]) -> None:
    deadline = time.monotonic() + _READY_SECONDS
    with Client(server) as client:
        while not client.get(_WORKS).ok:
            if stopped := next(filter(None, (process.stopped() for process in processes)), None):
                raise ControlPlaneError(stopped)
            if time.monotonic() > deadline:
                said = "; ".join(f"{process.title}: {process.last_lines()}" for process in processes)
                raise ControlPlaneError(f"the controllers did nothing for {_READY_SECONDS:.0f} s; {said}")
            time.sleep(_POLL_SECONDS)
