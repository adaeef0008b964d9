"""A cluster in memory, in which every controller has acted before the next request: for failing each of them once."""

from __future__ import annotations

import copy
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from infra.gpu_pools import GPU_RESOURCE, POOL_LABEL
from infra.naming import ONBOARDING
from ops.failures import RefusedError
from tests.ops.coldstart.measure.played.script import RESTORED, spoken
from tests.ops.players import POOL, WHOSE

Body = dict[str, Any]
CLAIMS, NODES = "/apis/karpenter.sh/v1/nodeclaims", "/api/v1/nodes"


def _stamp() -> str:
    return f"{datetime.fromtimestamp(time.time(), UTC):%Y-%m-%dT%H:%M:%SZ}"


class Memory:
    """Answers as `ops.cluster.api.Cluster` does."""

    def __init__(self, namespace: str, deployment: Body, failing: Callable[[int, Callable[[], Any]], Any]) -> None:
        """`failing`: is given the number of a request and what does it, and answers, or fails, in its place."""
        self.objects: dict[str, Body] = {}
        self.asked: list[str] = []
        self.failing = failing
        self.space = f"/api/v1/namespaces/{namespace}"
        self.deployment = f"/apis/apps/v1/namespaces/{namespace}/deployments/gemma"
        self._made = 0
        self._put(f"/apis/batch/v1/namespaces/{namespace}/cronjobs/{ONBOARDING}", annotations=WHOSE)
        self.objects[self.deployment] = copy.deepcopy(deployment)
        self.settle()

    # what a Cluster can

    def find(self, path: str) -> Body | None:
        return self._do("GET", path, lambda: {"items": self._all(path)} if path == CLAIMS else self.objects.get(path))

    def list(self, path: str, **query: str) -> Sequence[Body]:
        return self._do("LIST", path, lambda: [it for it in self._all(path) if _fits(it, query)])

    def text(self, path: str, *, container: str, **_: str) -> str:
        began = self.objects[path.removesuffix("/log")]["began"]
        said = spoken(began) if container == "vllm" else RESTORED.format(outcome="hit")
        return self._do("GET", path, lambda: said)

    def create(self, path: str, body: Mapping[str, Any]) -> Body:
        def make() -> Body:
            name = f"{path}/{body['metadata']['name']}"
            if name in self.objects:
                raise RefusedError(f"{name} already exists")
            return self._put(name, **body["metadata"], spec=body["spec"])

        return self._do("POST", path, make)

    def merge(self, path: str, change: Mapping[str, Any]) -> Body:
        def patch() -> Body:
            where = path.removesuffix("/scale")
            if where not in self.objects:
                raise RefusedError(f"{path}: not there")
            _merge(self.objects[where], change)
            return self.objects[where]

        return self._do("PATCH", path, patch)

    def delete(self, path: str, uid: str) -> None:
        def remove() -> None:
            if path in self.objects:
                assert self.objects[path]["metadata"]["uid"] == uid
                self.remove(path)

        self._do("DELETE", path, remove)

    def _do(self, verb: str, path: str, what: Callable[[], Any]) -> Any:
        def act() -> Any:
            answer = what()
            self.settle()
            return copy.deepcopy(answer)

        self.asked.append(f"{verb} {path}")
        return self.failing(len(self.asked), act)

    # what its controllers do

    def settle(self) -> None:
        for _ in range(3):
            self._replicas()
            for path, pod in list(self.objects.items()):
                if path.startswith(f"{self.space}/pods/") and "nodeName" not in pod["spec"]:
                    self._bind(pod)
        self.objects[self.deployment]["metadata"].setdefault("generation", 1)
        count = len(self.servers())
        status = {"observedGeneration": 1, "updatedReplicas": count, "replicas": count, "readyReplicas": count}
        self.objects[self.deployment]["status"] = status

    def servers(self) -> list[Body]:
        mine = self.objects[self.deployment]["spec"]["selector"]["matchLabels"].items()
        pods = [it for it in self._all(f"{self.space}/pods") if mine <= (it["metadata"].get("labels") or {}).items()]
        return [it for it in pods if it["status"].get("phase") != "Failed"]

    def remove(self, path: str) -> None:
        del self.objects[path]
        if path.startswith(CLAIMS):
            node = path.rpartition("/")[2]
            del self.objects[f"{NODES}/{node}"]
            for pod in self._all(f"{self.space}/pods"):
                if pod["spec"].get("nodeName") == node:
                    del self.objects[f"{self.space}/pods/{pod['metadata']['name']}"]

    def _replicas(self) -> None:
        wanted = self.objects[self.deployment]["spec"]["replicas"]
        template = self.objects[self.deployment]["spec"]["template"]
        pods = sorted(self.servers(), key=lambda it: "annotations" in it["metadata"])
        for pod in pods[wanted:]:
            self.remove(f"{self.space}/pods/{pod['metadata']['name']}")
        for _ in range(len(pods), wanted):
            self._made += 1
            name = f"{self.space}/pods/gemma-{self._made}"
            self._put(name, labels=template["metadata"]["labels"], spec=template["spec"])

    def _bind(self, pod: Body) -> None:
        taken = {
            it["spec"].get("nodeName")
            for it in self._all(f"{self.space}/pods")
            if it["status"].get("phase") != "Failed"
        }
        free = [it for it in self._all(NODES) if not it["spec"].get("unschedulable")]
        node = next((it["metadata"]["name"] for it in free if it["metadata"]["name"] not in taken), "")
        node = node or self._node()
        pod["spec"]["nodeName"] = node
        now = _stamp()
        pod["began"] = time.time()
        both = [{"type": it, "status": "True", "lastTransitionTime": now} for it in ("PodScheduled", "Ready")]
        running = {"ready": True, "restartCount": 0, "state": {"running": {"startedAt": now}}}
        pod["status"] = {
            "phase": "Running",
            "conditions": both,
            "containerStatuses": [{"name": it["name"], **running} for it in pod["spec"]["containers"]],
        }

    def _node(self) -> str:
        self._made += 1
        name = f"node-{self._made}"
        made = self._put(f"{NODES}/{name}", labels={POOL_LABEL: POOL})
        has = {GPU_RESOURCE: "1"}
        ready = {"type": "Ready", "status": "True", "lastTransitionTime": _stamp()}
        made["status"] = {"capacity": has, "allocatable": has, "conditions": [ready]}
        self._put(f"{CLAIMS}/{name}")["status"] = {"nodeName": name}
        return name

    def _put(self, path: str, *, spec: Body | None = None, **metadata: Any) -> Body:
        name, uid = path.rpartition("/")[2], uuid.uuid4().hex
        space = path.split("/namespaces/")[-1].split("/")[0]
        whole = {"name": name, "uid": uid, "namespace": space, "creationTimestamp": _stamp(), **metadata}
        self.objects[path] = {"metadata": whole, "spec": copy.deepcopy(spec or {}), "status": {}}
        return self.objects[path]

    def _all(self, path: str) -> list[Body]:
        kind = path.rpartition("/")[2]
        return [
            it
            for at, it in list(self.objects.items())
            if at.split("/")[-2] == kind and (at.startswith(f"{path}/") or "/namespaces/" not in path)
        ]


def _fits(item: Body, query: Mapping[str, str]) -> bool:
    labels = dict(it.split("=") for it in query.get("labelSelector", "").split(",") if it)
    _, equals, node = query.get("fieldSelector", "").partition("spec.nodeName=")
    return labels.items() <= (item["metadata"].get("labels") or {}).items() and (
        not equals or item["spec"].get("nodeName") == node
    )


def _merge(whole: Body, change: Mapping[str, Any]) -> None:
    for key, value in change.items():
        if isinstance(value, Mapping):
            _merge(whole.setdefault(key, {}), value)
        elif value is None:
            whole.pop(key, None)
        else:
            whole[key] = value
