"""The dev stack's server in a real control plane, with controllers; kubelet and Karpenter are played."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import yaml

from infra.naming import ONBOARDING
from infra.priorities import PRIORITIES
from ops.coldstart.measure import provoke
from rehearsal.control_plane.client import ApiServer, Client
from rehearsal.control_plane.controllers import controlled
from rehearsal.control_plane.discovery import Discovery
from rehearsal.control_plane.installation import install
from rehearsal.control_plane.server import control_plane
from tests.ops.coldstart.measure.played.scene import Scene, ready
from tests.ops.coldstart.measure.played.script import Script
from tests.ops.coldstart.measure.played.stage import CLAIMS, Stage
from tests.ops.players import Kubelet, Players


@pytest.fixture(scope="session")
def plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApiServer]:
    """An API server with controllers, Karpenter's claims and the stack's priority classes."""
    place = tmp_path_factory.mktemp("measure")
    with control_plane(place / "api") as running, controlled(running, place / "controllers"):
        with Client(running) as client:
            install(client, Discovery(client), [("karpenter.sh/v1", "NodeClaim")], None, None)
            # its store is made with the first request
            while not client.get(CLAIMS).ok:
                time.sleep(0.05)
            for name, value in PRIORITIES.items():
                body = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": name}}
                made = client.create("/apis/scheduling.k8s.io/v1/priorityclasses", {**body, "value": value})
                assert made.ok, made.message
        yield running


@pytest.fixture(scope="session")
def nodes(plane: ApiServer) -> Iterator[Kubelet]:
    """What that API server asks for logs."""
    with Kubelet.serving(plane) as running:
        yield running


@pytest.fixture
def scene(
    plane: ApiServer, nodes: Kubelet, folder: Path, edit: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> Iterator[Scene]:
    """A server that is not deployed yet, in a namespace that the dev stack's file names, with no node."""
    monkeypatch.setattr(provoke, "POLL", 0.1)
    name = f"ns-{uuid.uuid4().hex[:8]}"
    edit(lambda settings: settings.update(namespace=name))
    path = folder / "kubeconfig"
    path.write_text(yaml.safe_dump(plane.kubeconfig()))
    players = Players(plane, name, str(path))
    players.create("/api/v1/namespaces", "v1", "Namespace", name, {})
    players.create(f"/api/v1/namespaces/{name}/serviceaccounts", "v1", "ServiceAccount", "gemma-server", {})
    players.cron_job(ONBOARDING, {"command": ["true"]})
    with Stage(plane, name, nodes).playing() as stage:
        yield Scene(players, stage, folder)


@pytest.fixture
def serving(scene: Scene) -> Scene:
    """A server whose one pod is Ready on a node that Karpenter has made."""
    stage = scene.stage
    boot, scripts = stage.boot, stage.scripts
    stage.boot, stage.scripts = 0.0, lambda _: Script(restore=0.1, ready=0.1)
    scene.deploy()
    ready(scene, 1)
    stage.boot, stage.scripts = boot, scripts
    return scene
