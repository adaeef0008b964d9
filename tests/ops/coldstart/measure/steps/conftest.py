"""No patience, and the dev stack's server in a cluster in memory."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from ops.coldstart.measure import provoke, put_back
from ops.coldstart.measure.reach import Reach
from ops.coldstart.measure.run import Order, measured, told
from ops.coldstart.record import Record
from ops.stack.stack_file import read
from tests.harness import stack_recording
from tests.ops.coldstart.measure.played.memory import Memory
from tests.ops.coldstart.measure.played.scene import IDLE, whole


@pytest.fixture(autouse=True)
def hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    # what is waited for and never comes is not waited for long
    fast = SimpleNamespace(monotonic=lambda: 100 * time.monotonic(), sleep=lambda seconds: time.sleep(seconds / 100))
    monkeypatch.setattr(provoke, "time", fast)
    monkeypatch.setattr(provoke, "POLL", 0.1)
    monkeypatch.setattr(provoke, "SILENCE", 0.4)
    monkeypatch.setattr(put_back, "PAUSE", 0.001)
    monkeypatch.setattr(put_back, "PATIENCE", 0.004)


@dataclass
class Run:
    """One measurement, in which what `failing` says goes wrong."""

    cluster: Memory
    order: Order
    kept: list[Record] = field(default_factory=list)

    def __call__(self, failing: Callable[[int, Callable[[], Any]], Any]) -> None:
        reach = Reach(metrics=lambda _: IDLE, agent=lambda _: nullcontext(), first_token=lambda _: 0.05)
        agreed = told(self.cluster, self.order, reach)
        self.cluster.asked.clear()
        self.cluster.failing = failing
        measured(self.cluster, self.order, reach, agreed, self.kept.append, lambda _: None)

    def standing(self) -> list[str]:
        """What is another way than before."""
        objects, space = self.cluster.objects, self.cluster.space
        self.cluster.settle()
        wrong = []
        if objects[self.cluster.deployment]["spec"]["replicas"] != self.replicas:
            wrong.append("replicas of Deployment")
        if f"{space}/pods/gemma-coldstart-holder" in objects:
            wrong.append("no pod inference/gemma-coldstart-holder")
        for path, it in objects.items():
            if it["spec"].get("unschedulable"):
                wrong.append(f"node {path.rpartition('/')[2]} takes pods")
            if "controller.kubernetes.io/pod-deletion-cost" in (it["metadata"].get("annotations") or {}):
                wrong.append(f"pod {path.rpartition('/')[2]} as likely to go as before")
        return wrong

    replicas: int = 1


@pytest.fixture
def run(folder: Path) -> Callable[..., Run]:
    """`run("restart")`: ready to be measured."""
    stack = read("dev")
    made = whole(stack_recording("dev").one("kubernetes:apps/v1:Deployment", "gemma").inputs)

    def ready(situation: str, replicas: int = 1) -> Run:
        body = {**made, "spec": {**made["spec"], "replicas": replicas}}
        cluster = Memory(stack.settings.namespace, body, lambda _, act: act())
        order = Order(stack=stack, server="gemma", situation=situation, repeat=1, despite_traffic=False)
        return Run(cluster, order, replicas=replicas)

    return ready
