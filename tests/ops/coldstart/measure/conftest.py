"""The dev stack's server in a real control plane, with controllers; kubelet and Karpenter are played."""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import yaml

from infra.naming import ONBOARDING
from infra.priorities import PRIORITIES
from ops.cluster.access import connected
from ops.cluster.api import Cluster
from ops.coldstart.measure import provoke
from ops.coldstart.measure.reach import Reach
from ops.coldstart.measure.run import Order, Told, measured, told
from ops.coldstart.record import Record
from ops.stack.stack_file import Stack, read
from rehearsal.control_plane.client import ApiServer, Client
from rehearsal.control_plane.controllers import controlled
from rehearsal.control_plane.discovery import Discovery
from rehearsal.control_plane.installation import install
from rehearsal.control_plane.server import control_plane
from tests.harness import stack_recording
from tests.ops.coldstart.measure.script import Script
from tests.ops.coldstart.measure.stage import CLAIMS, Stage
from tests.ops.players import Kubelet, Players

IDLE = 'vllm:num_requests_running{engine="0"} 0.0\nvllm:num_requests_waiting{engine="0"} 0.0\n'


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


def whole(value: Any) -> Any:
    """Numbers of a recording are floats."""
    if isinstance(value, dict):
        return {key: whole(it) for key, it in value.items()}
    if isinstance(value, list):
        return [whole(it) for it in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


@dataclass
class Scene:
    """A namespace with the dev stack's server, and whoever measures it."""

    players: Players
    stage: Stage
    folder: Path
    metrics: Callable[[str], str] = lambda _pod: IDLE
    first_token: Callable[[str], float] = lambda _pod: 0.05

    said: list[str] = field(default_factory=list)

    def say(self, text: str) -> None:
        self.stage.check()
        self.said.append(text)

    @property
    def stack(self) -> Stack:
        return read("dev")

    @property
    def cluster(self) -> Cluster:
        return connected(self.stack, Path(self.players.kubeconfig))

    @property
    def reach(self) -> Reach:
        return Reach(metrics=self.metrics, agent=lambda _pod: nullcontext(), first_token=self.first_token)

    def order(self, situation: str, *, repeat: int = 1, despite_traffic: bool = False) -> Order:
        return Order(
            stack=self.stack, server="gemma", situation=situation, repeat=repeat, despite_traffic=despite_traffic
        )

    def told(self, situation: str, **more: Any) -> Told:
        return told(self.cluster, self.order(situation, **more), self.reach)

    def measured(self, situation: str, **more: Any) -> list[Record]:
        order, kept = self.order(situation, **more), []
        measured(self.cluster, order, self.reach, told(self.cluster, order, self.reach), kept.append, self.say)
        return kept

    def get(self, path: str) -> Any:
        with Client(self.players.api) as client:
            return client.get(path).body

    def deployment(self) -> Any:
        return self.get(f"/apis/apps/v1/namespaces/{self.players.namespace}/deployments/gemma")

    def pods(self) -> list[Any]:
        return self.get(f"/api/v1/namespaces/{self.players.namespace}/pods")["items"]

    def change(self, path: str, change: Any) -> None:
        with Client(self.players.api) as client:
            answer = client.merge(path, change)
            assert answer.ok, answer.message

    def deploy(self, *, replicas: int = 1) -> None:
        """The Deployment as the program makes it."""
        made = whole(stack_recording("dev").one("kubernetes:apps/v1:Deployment", "gemma").inputs)
        spec = {**made["spec"], "replicas": replicas}
        space = self.players.namespace
        metadata = {**made["metadata"], "namespace": space}
        body = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata, "spec": spec}
        with Client(self.players.api) as client:
            answer = client.create(f"/apis/apps/v1/namespaces/{space}/deployments", body)
            assert answer.ok, answer.message


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


def ready(scene: Scene, count: int) -> None:
    for _ in range(400):
        if scene.deployment().get("status", {}).get("readyReplicas") == count:
            return
        assert not scene.stage.failure, scene.stage.failure
        time.sleep(0.05)
    raise AssertionError(json.dumps([scene.deployment().get("status"), *(it["status"] for it in scene.pods())]))
