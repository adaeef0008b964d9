"""One real API server with Karpenter's definitions, for whole stacks of servers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from rehearsal.control_plane.admission import admit
from rehearsal.control_plane.client import ApiServer
from rehearsal.control_plane.crds import sources
from rehearsal.control_plane.objects.manifest import Manifest, Report
from rehearsal.control_plane.server import control_plane


@pytest.fixture(scope="session")
def server(programs: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApiServer]:
    with control_plane(tmp_path_factory.mktemp("servers")) as running:
        yield running


@pytest.fixture
def ask(server: ApiServer) -> Callable[..., Report]:
    """`ask(body, ...)`: the report over these objects, with the definitions of the charts of the stack files."""

    def run(*bodies: dict[str, Any]) -> Report:
        manifests = [Manifest(urn=f"urn:{place}", body=body) for place, body in enumerate(bodies)]
        return admit(server, manifests, sources=sources({"karpenter-crd": "1.14.1"}))

    return run
