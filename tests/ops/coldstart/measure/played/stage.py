"""Who plays kubelet and Karpenter beside a real API server, controller manager and scheduler."""

from __future__ import annotations

import threading
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any

from infra.gpu_pools import GPU_RESOURCE, POOL_LABEL, TAINT
from rehearsal.control_plane.client import ApiServer, Client
from tests.ops.coldstart.measure.played.pods import Act, Pods, half, stamp
from tests.ops.coldstart.measure.played.script import FRESH, RESTART, Script
from tests.ops.players import POOL, Kubelet

Body = dict[str, Any]
LOOK = 0.05
CLAIMS = "/apis/karpenter.sh/v1/nodeclaims"
LEASES = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases"
TYPE = "g7e.2xlarge"


class Stage:
    """Nodes of the pool, and the pods on them."""

    def __init__(self, api: ApiServer, namespace: str, kubelet: Kubelet) -> None:
        self.api, self.namespace, self.kubelet = api, namespace, kubelet
        self.acts: dict[str, Act] = {}
        """By uid of the pod."""
        self.seen: dict[str, float] = {}
        """Pods and nodes, and when they were seen or made, by uid or name."""
        self.scripts: Callable[[bool], Script] = lambda fresh: FRESH if fresh else RESTART
        self.boot = 1.0
        """Seconds until a node is Ready."""
        self.ahead = 0.0
        """Seconds by which nodes' clocks are ahead."""
        self.ends = True
        """Whether nodes end that should."""
        self.failure = ""
        self.used: set[str] = set()
        """Nodes that have the image."""
        self.pods = Pods(self)
        self._boots: dict[str, float] = {}
        self._renewed = 0.0
        self._over = threading.Event()

    @contextmanager
    def playing(self) -> Iterator[Stage]:
        thread = threading.Thread(target=self._play, daemon=True)
        thread.start()
        try:
            yield self
        finally:
            self._over.set()
            thread.join()
            self._clear()
        assert not self.failure, self.failure

    def node(self, name: str) -> None:
        """A node of the pool that is Ready at once."""
        self.claim(name)
        self._boots[name] = 0.0

    def check(self) -> None:
        """Whoever waits for the players must not wait for ever."""
        if self.failure:
            raise RuntimeError(self.failure)

    def _play(self) -> None:
        with Client(self.api) as client:
            self._client = client
            while not self._over.wait(LOOK):
                try:
                    self._karpenter()
                    self.pods.look()
                except Exception:
                    self.failure = traceback.format_exc()
                    return

    def now(self) -> float:
        return time.time()

    # Karpenter

    def claim(self, name: str) -> None:
        reference = {"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": POOL}
        requirement = {"key": POOL_LABEL, "operator": "In", "values": [POOL]}
        body = {
            "apiVersion": "karpenter.sh/v1",
            "kind": "NodeClaim",
            "metadata": {"name": name, "finalizers": ["karpenter.sh/termination"]},
            "spec": {"nodeClassRef": reference, "requirements": [requirement]},
        }
        with Client(self.api) as client:
            answer = client.create(CLAIMS, body)
            assert answer.ok, answer.message

    def _karpenter(self) -> None:
        if self.now() - self._renewed > 0.7:
            self._renewed = self.now()
            for node in self.items("/api/v1/nodes"):
                self._renew(node["metadata"]["name"])
        for claim in self.items(CLAIMS):
            name = claim["metadata"]["name"]
            if "deletionTimestamp" in claim["metadata"]:
                if not self.ends:
                    continue
                self.delete(f"/api/v1/nodes/{name}")
                self.delete(f"{LEASES}/{name}")
                self.used.discard(name)
                self.merge(f"{CLAIMS}/{name}", {"metadata": {"finalizers": None}})
            elif not (claim.get("status") or {}).get("nodeName"):
                self._boots.setdefault(name, half(self.now() + self.boot))
                if self.now() >= self._boots[name]:
                    self._make(name)

    def _make(self, name: str) -> None:
        labels = {
            POOL_LABEL: POOL,
            "karpenter.k8s.aws/instance-gpu-name": "rtx-pro-server-6000",
            "karpenter.sh/capacity-type": "spot",
            "kubernetes.io/hostname": name,
            "node.kubernetes.io/instance-type": TYPE,
            "topology.kubernetes.io/zone": "us-west-2b",
        }
        body = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": labels}}
        body["spec"] = {"taints": [dict(TAINT)]}
        self.create("/api/v1/nodes", body)
        # of an object that was made without a spec the API server notes nobody's changes
        lease = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": name}}
        self.create(LEASES, {**lease, "spec": self._renewal(name)})
        has = {"cpu": "8", "memory": "60Gi", "pods": "50", GPU_RESOURCE: "1"}
        now = self.now()
        ready = {"type": "Ready", "status": "True", "reason": "KubeletReady", "lastTransitionTime": self.on_node(now)}
        status = {
            "capacity": has,
            "allocatable": has,
            "conditions": [{**ready, "lastHeartbeatTime": self.on_node(now)}],
            "addresses": [{"type": "InternalIP", "address": "127.0.0.1"}],
            "daemonEndpoints": {"kubeletEndpoint": {"Port": self.kubelet.port}},
        }
        self.merge(f"/api/v1/nodes/{name}/status", {"status": status})
        self.merge(f"{CLAIMS}/{name}/status", {"status": {"nodeName": name}})
        self.seen[name] = now

    def _renew(self, name: str) -> None:
        self.merge(f"{LEASES}/{name}", {"spec": self._renewal(name)})

    def _renewal(self, name: str) -> Body:
        now = datetime.fromtimestamp(self.now() + self.ahead, UTC)
        return {"holderIdentity": name, "leaseDurationSeconds": 40, "renewTime": f"{now:%Y-%m-%dT%H:%M:%S.%fZ}"}

    def on_node(self, seconds: float) -> str:
        return stamp(seconds + self.ahead)

    def open_claims(self) -> set[str]:
        """Claims that have no pod of ours yet, and may take one."""
        taken = {it["spec"].get("nodeName") for it in self.items(f"/api/v1/namespaces/{self.namespace}/pods")}
        closed = {it["metadata"]["name"] for it in self.items("/api/v1/nodes") if it["spec"].get("unschedulable")}
        return {it["metadata"]["name"] for it in self.items(CLAIMS)} - taken - closed

    # the API

    def items(self, path: str) -> list[Body]:
        return self._client.get(path).body["items"]

    def create(self, path: str, body: Body) -> None:
        answer = self._client.create(path, body)
        assert answer.ok, answer.message

    def merge(self, path: str, body: Body) -> None:
        answer = self._client.merge(path, body)
        assert answer.ok or answer.status == 404, answer.message

    def delete(self, path: str) -> None:
        self._client._request("DELETE", f"{path}?gracePeriodSeconds=0", None, "application/json")

    def _clear(self) -> None:
        with Client(self.api) as client:
            self._client = client
            for claim in self.items(CLAIMS):
                path = f"{CLAIMS}/{claim['metadata']['name']}"
                self.merge(path, {"metadata": {"finalizers": None}})
                self.delete(path)
            for node in self.items("/api/v1/nodes"):
                self.delete(f"/api/v1/nodes/{node['metadata']['name']}")
            self.delete(f"/apis/apps/v1/namespaces/{self.namespace}/deployments/gemma")
            deadline = time.monotonic() + 5
            while (pods := self.items(f"/api/v1/namespaces/{self.namespace}/pods")) and time.monotonic() < deadline:
                for pod in pods:
                    self.delete(f"/api/v1/namespaces/{self.namespace}/pods/{pod['metadata']['name']}")
                time.sleep(0.1)
