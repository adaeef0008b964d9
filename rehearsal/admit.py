"""A stack's Kubernetes objects before a real API server: an offline `up`, then a server-side dry run of each."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rehearsal.control_plane import admission
from rehearsal.control_plane.client import ApiServer, ControlPlaneError
from rehearsal.control_plane.crds import CrdError, sources
from rehearsal.control_plane.objects.manifest import Manifest, Report
from rehearsal.control_plane.server import Programs, control_plane, find_programs
from rehearsal.engine.run import RunFailedError
from rehearsal.life import up
from rehearsal.providers.journal import Call, Journal
from rehearsal.providers.kubernetes.charts import RELEASE


@dataclass(frozen=True, kw_only=True)
class Admission:
    """The API server's verdict over a stack."""

    project: str
    stack: str
    server: str
    """Version of kube-apiserver, without a leading `v`."""
    report: Report
    charts: int
    """Helm releases: their objects are not among those that were shown to the server."""
    seconds: float

    def as_json(self) -> dict[str, Any]:
        """The verdict for a JSON file."""
        return {
            "project": self.project,
            "stack": self.stack,
            "server": self.server,
            "admitted": [vars(it) for it in self.report.admitted],
            "refused": [vars(it) for it in self.report.refusals],
            "crds": self.report.crds,
            "charts": self.charts,
            "seconds": round(self.seconds, 3),
        }


def admit(
    stack: str,
    *,
    project: Path | None = None,
    secrets: Sequence[tuple[str, str]] = (),
    crds: Path | None = None,
) -> Admission:
    """Bring a stack up in the offline cloud and ask a fresh API server about each of its objects.

    `crds`: a folder with further custom resource definitions. Raises UsageError, RunFailedError and
    ToolMissingError; objects that are refused raise nothing, they are in the report.
    """
    started = time.monotonic()
    # Before the program's environment replaces ours, in which the tool cache lies.
    programs = find_programs()
    journal = Journal()
    try:
        with _meanwhile(programs) as starting:
            plan = up(stack, project=project, secrets=secrets, journal=journal)
            server = starting()
            report = admission.admit(server, manifests(journal), crds=crds, sources=sources(chart_versions(journal)))
    except (ControlPlaneError, CrdError) as failure:
        raise RunFailedError(str(failure)) from failure
    return Admission(
        project=plan.project,
        stack=stack,
        server=server.version,
        report=report,
        charts=len(charts(journal)),
        seconds=time.monotonic() - started,
    )


def manifests(journal: Journal) -> list[Manifest]:
    """The Kubernetes objects that were created, by URN: their order depends on the timing of threads."""
    created = [call for call in _created(journal) if call.type != RELEASE]
    return [Manifest(urn=call.urn, body=call.inputs) for call in created]


def charts(journal: Journal) -> list[str]:
    """URNs of the Helm releases that were created. They are no objects, and what is in their charts is not known."""
    return [call.urn for call in _created(journal) if call.type == RELEASE]


def chart_versions(journal: Journal) -> dict[str, str]:
    """Version by name of each chart that a release installs: it decides what its kinds look like."""
    releases = [call.inputs for call in _created(journal) if call.type == RELEASE]
    return {str(given["chart"]).rpartition("/")[2]: str(given.get("version", "")) for given in releases}


def _created(journal: Journal) -> list[Call]:
    created = [call for call in journal.calls if call.verb == "create" and call.type.startswith("kubernetes:")]
    return sorted(created, key=lambda call: call.urn)


@contextmanager
def _meanwhile(programs: Programs) -> Iterator[Callable[[], ApiServer]]:
    """Start the API server in a thread; what is yielded waits for it."""
    with (
        tempfile.TemporaryDirectory(prefix="vllm-eks-rehearsal-", ignore_cleanup_errors=True) as folder,
        ThreadPoolExecutor(max_workers=1) as thread,
        ExitStack() as stays,
    ):
        server = thread.submit(lambda: stays.enter_context(control_plane(Path(folder), programs)))
        # Also when nobody asks for it: its processes must be known before they can be ended.
        stays.callback(server.exception)
        yield server.result
