"""Two real API servers: one with the definitions of each Karpenter version that the pools are written for."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from rehearsal.control_plane import crds
from rehearsal.control_plane.admission import admit
from rehearsal.control_plane.client import ApiServer
from rehearsal.control_plane.objects.manifest import Manifest, Report
from rehearsal.control_plane.server import control_plane

KARPENTERS = {source.version: source for source in crds.KARPENTERS.values()}

Body = dict[str, object]


@pytest.fixture(scope="session", params=KARPENTERS)
def karpenter(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[ApiServer, Path]:
    return request.getfixturevalue("servers")[request.param]


@pytest.fixture(scope="session")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, tuple[ApiServer, Path]]]:
    found = {}
    folder = tmp_path_factory.mktemp("karpenter")
    with control_plane(folder / "a") as one, control_plane(folder / "b") as two:
        for server, (version, source) in zip((one, two), KARPENTERS.items(), strict=True):
            definitions = folder / version
            definitions.mkdir()
            for body in crds.fetched(source):
                # YAML holds JSON
                (definitions / f"{body['metadata']['name']}.yaml").write_text(json.dumps(body))
            found[version] = (server, definitions)
        yield found


@pytest.fixture
def ask(karpenter: tuple[ApiServer, Path]) -> Callable[..., Report]:
    """`ask(body, ...)`: what the API server says to these objects."""
    server, definitions = karpenter

    def run(*bodies: Body) -> Report:
        listed = [Manifest(urn=f"urn:{index}", body=body) for index, body in enumerate(bodies)]
        return admit(server, listed, crds=definitions)

    return run
