"""A namespace with the dev stack's server, and whoever measures it."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ops.cluster.access import connected
from ops.cluster.api import Cluster
from ops.coldstart.measure.reach import Reach
from ops.coldstart.measure.run import Order, Told, measured, told
from ops.coldstart.record import Record
from ops.stack.stack_file import Stack, read
from rehearsal.control_plane.client import Client
from tests.harness import stack_recording
from tests.ops.coldstart.measure.played.stage import Stage
from tests.ops.players import Players

IDLE = 'vllm:num_requests_running{engine="0"} 0.0\nvllm:num_requests_waiting{engine="0"} 0.0\n'


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


def ready(scene: Scene, count: int) -> None:
    for _ in range(400):
        if scene.deployment().get("status", {}).get("readyReplicas") == count:
            return
        assert not scene.stage.failure, scene.stage.failure
        time.sleep(0.05)
    raise AssertionError(json.dumps([scene.deployment().get("status"), *(it["status"] for it in scene.pods())]))
