"""One real API server for all tests of this folder; each test has namespaces and names of its own."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator

import pytest

from rehearsal.control_plane.admission import admit
from rehearsal.control_plane.client import ApiServer, Client
from rehearsal.control_plane.objects.manifest import Report
from rehearsal.control_plane.server import control_plane
from tests.rehearsal.control_plane.objects import Body, manifests, namespace


@pytest.fixture(scope="session")
def server(programs: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApiServer]:
    with control_plane(tmp_path_factory.mktemp("control-plane")) as running:
        yield running


@pytest.fixture
def ask(server: ApiServer) -> Callable[..., Report]:
    """`ask(body, ...)`: the report over these objects."""

    def run(*bodies: Body) -> Report:
        return admit(server, manifests(*bodies))

    return run


@pytest.fixture(scope="session")
def space(server: ApiServer) -> str:
    """A namespace that is there."""
    with Client(server) as client:
        assert client.create("/api/v1/namespaces", namespace("space")).ok
    return "space"


def lines(report: Report) -> list[str]:
    """What the user reads."""
    return [refusal.line for refusal in report.refusals]


def processes(mark: str) -> list[str]:
    """The command lines that hold `mark`."""
    listed = subprocess.run(["ps", "-A", "-ww", "-o", "args="], capture_output=True, text=True, check=True)
    return [line for line in listed.stdout.splitlines() if mark in line]
