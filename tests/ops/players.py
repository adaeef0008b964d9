"""Whoever is missing beside a real API server: the Job controller and kubelets, played by the tests."""

from __future__ import annotations

import ssl
import threading
import time
import urllib.request
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import yaml

from rehearsal.control_plane.client import ApiServer, Client

Body = dict[str, Any]
IMAGE = "registry.example/x@sha256:" + "0" * 64
POOL = "rtx-pro-6000"
NOW = "2026-11-30T10:00:00Z"
WHOSE = {"vllm-eks/account": "000000000000", "vllm-eks/cluster": "inference-dev"}
"""Annotations of the dev stack's templates."""


@dataclass(frozen=True)
class Players:
    """One namespace of the API server."""

    api: ApiServer
    namespace: str
    kubeconfig: str
    """Path of a file."""

    @staticmethod
    def in_new_namespace(api: ApiServer, folder: Path, edit: Callable[..., None]) -> Players:
        name = f"ns-{uuid.uuid4().hex[:8]}"
        edit(lambda settings: settings.update(namespace=name))
        path = folder / "kubeconfig"
        path.write_text(yaml.safe_dump(api.kubeconfig()))
        made = Players(api, name, str(path))
        made.create("/api/v1/namespaces", "v1", "Namespace", name, {})
        made.create(f"/api/v1/namespaces/{name}/serviceaccounts", "v1", "ServiceAccount", "default", {})
        return made

    def create(self, path: str, version: str, kind: str, name: str, rest: Body, **metadata: Any) -> Body:
        body = {"apiVersion": version, "kind": kind, "metadata": {"name": name, **metadata}, **rest}
        with Client(self.api) as client:
            answer = client.create(path, body)
        assert answer.ok, answer.message
        return answer.body

    def cron_job(self, name: str, container: Body, *, whose: Body = WHOSE, **pod: Any) -> Body:
        """A template, with a field that only this version of Kubernetes knows."""
        spec = {
            "schedule": "0 0 31 2 *",
            "suspend": True,
            "jobTemplate": {
                "metadata": {"labels": {"of": "template"}, "annotations": {"note": "kept"}},
                "spec": {
                    "backoffLimit": 2,
                    "podReplacementPolicy": "Failed",
                    "template": {
                        "metadata": {"labels": {"a": "b"}},
                        "spec": {
                            "restartPolicy": "Never",
                            "containers": [{"name": "vllm", "image": IMAGE, **container}],
                            **pod,
                        },
                    },
                },
            },
        }
        path = f"/apis/batch/v1/namespaces/{self.namespace}/cronjobs"
        return self.create(path, "batch/v1", "CronJob", name, {"spec": spec}, annotations=whose)

    def pod(self, name: str, container: Body | None = None, *, labels: Body | None = None, **spec: Any) -> Body:
        containers = [{"name": "vllm", "image": IMAGE, **(container or {})}]
        path = f"/api/v1/namespaces/{self.namespace}/pods"
        body = {"spec": {"restartPolicy": "Never", "containers": containers, **spec}}
        return self.create(path, "v1", "Pod", name, body, labels=labels or {})

    def node(self, name: str, kubelet: int) -> None:
        """A node whose kubelet listens at this port on loopback."""
        self.create("/api/v1/nodes", "v1", "Node", name, {})
        status = {
            "addresses": [{"type": "InternalIP", "address": "127.0.0.1"}],
            "daemonEndpoints": {"kubeletEndpoint": {"Port": kubelet}},
        }
        with Client(self.api) as client:
            assert client.merge(f"/api/v1/nodes/{name}/status", {"status": status}).ok

    def gpu_pod(self, name: str, gpus: int, *, pool: str = POOL, labels: Body | None = None) -> Body:
        resources = {"resources": {"limits": {"nvidia.com/gpu": str(gpus)}}}
        tolerations = [{"key": "nvidia.com/gpu", "operator": "Exists"}]
        return self.pod(name, resources, labels=labels, nodeSelector={"vllm-eks/pool": pool}, tolerations=tolerations)

    def jobs(self) -> list[Body]:
        with Client(self.api) as client:
            return client.get(f"/apis/batch/v1/namespaces/{self.namespace}/jobs").body["items"]

    def job(self, *, other_than: str = "") -> Body:
        """The one Job, as soon as it is there; when one with this uid is, as soon as another took its place."""
        for _ in range(400):
            if jobs := [it for it in self.jobs() if it["metadata"]["uid"] != other_than]:
                assert len(jobs) == 1
                return jobs[0]
            time.sleep(0.05)
        raise AssertionError("no Job came")

    def status(self, kind: str, name: str, status: Body) -> None:
        group = "/apis/batch/v1" if kind == "jobs" else "/api/v1"
        with Client(self.api) as client:
            answer = client.merge(f"{group}/namespaces/{self.namespace}/{kind}/{name}/status", {"status": status})
        assert answer.ok, answer.message

    def end(self, job: Body, *, code: int, message: str, reason: str = "") -> None:
        """As kubelet and the Job controller end a Job: its pod's container, then the Job."""
        name = job["metadata"]["name"]
        pod = f"{name}-abcde"
        labels = {"batch.kubernetes.io/job-name": name, "batch.kubernetes.io/controller-uid": job["metadata"]["uid"]}
        self.pod(pod, labels=labels)
        terminated = {
            "exitCode": code,
            "message": message,
            "reason": reason or ("Completed" if code == 0 else "Error"),
            "startedAt": NOW,
            "finishedAt": NOW,
        }
        self.status(
            "pods",
            pod,
            {
                "phase": "Failed" if code else "Succeeded",
                "containerStatuses": [
                    {
                        "name": "vllm",
                        "image": IMAGE,
                        "imageID": "",
                        "ready": False,
                        "restartCount": 0,
                        "state": {"terminated": terminated},
                    }
                ],
            },
        )
        self.ended(name, succeeded=code == 0)

    def ended(self, name: str, *, succeeded: bool, reason: str = "BackoffLimitExceeded") -> None:
        """The Job's own status alone."""
        kinds = ("SuccessCriteriaMet", "Complete") if succeeded else ("FailureTarget", "Failed")
        conditions = [
            {
                "type": kind,
                "status": "True",
                "lastProbeTime": NOW,
                "lastTransitionTime": NOW,
                "reason": "CompletionsReached" if succeeded else reason,
                "message": "" if succeeded else "said by the controller",
            }
            for kind in kinds
        ]
        status: Body = {"startTime": NOW, "conditions": conditions}
        status |= {"completionTime": NOW, "succeeded": 1} if succeeded else {"failed": 1}
        self.status("jobs", name, status)

    def delete_job(self, name: str) -> None:
        # in the background: else it waits for a garbage collector, and none runs
        self._delete(f"/apis/batch/v1/namespaces/{self.namespace}/jobs/{name}?propagationPolicy=Background")

    def clear(self) -> None:
        """Take its pods away: they count for the pools of all namespaces."""
        self._delete(f"/api/v1/namespaces/{self.namespace}/pods?gracePeriodSeconds=0")

    def _delete(self, path: str) -> None:
        request = urllib.request.Request(  # noqa: S310 - the rehearsal's own
            f"{self.api.url}{path}", method="DELETE", headers={"Authorization": f"Bearer {self.api.token}"}
        )
        context = ssl.create_default_context(cafile=self.api.ca)
        context.verify_flags &= ~ssl.VERIFY_X509_STRICT  # self-signed certificates lack what it wants
        urllib.request.urlopen(request, context=context).close()  # noqa: S310

    @contextmanager
    def playing(self, act: Callable[[], object]) -> Iterator[None]:
        """Act while the program waits. When that fails the program stops waiting, and the test fails with it."""
        failures: list[BaseException] = []

        def run() -> None:
            try:
                act()
            except BaseException as failure:
                failures.append(failure)
                for job in self.jobs():
                    self.delete_job(job["metadata"]["name"])

        thread = threading.Thread(target=run, daemon=True)
        thread.start()
        yield
        thread.join()
        if failures:
            raise failures[0]


@dataclass
class Kubelet:
    """Answers `/containerLogs/<namespace>/<pod>/<container>` over TLS, as the API server asks it."""

    port: int
    logs: dict[str, str | None]
    """By `<namespace>/<pod>/<container>`; None for one that has not started."""

    @staticmethod
    @contextmanager
    def serving(api: ApiServer) -> Iterator[Kubelet]:
        logs: dict[str, str | None] = {}

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                what = urlsplit(self.path).path.removeprefix("/containerLogs/")
                said = logs[what]
                body = (said or "container is waiting to start: PodInitializing").encode()
                self.send_response(400 if said is None else 200)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: object) -> None:
                pass

        with Kubelet.over_tls(api, Handler) as port:
            yield Kubelet(port, logs)

    @staticmethod
    @contextmanager
    def over_tls(api: ApiServer, handler: type[BaseHTTPRequestHandler]) -> Iterator[int]:
        """Have a handler answer the API server; its port."""
        server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        # any will do: the API server verifies none of a kubelet's
        context.load_cert_chain(api.ca, api.ca.with_suffix(".key"))
        server.socket = context.wrap_socket(server.socket, server_side=True)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield server.server_port
        finally:
            server.shutdown()

    def run(self, players: Players, pod: str, said: dict[str, str | None], *, engine: str = "vllm") -> None:
        """Have a pod of a server on this node, whose containers have said this."""
        node = f"node-{pod}-{players.namespace}"
        players.node(node, self.port)
        before = [{"name": name, "image": IMAGE} for name in said if name != engine]
        labels = {"app.kubernetes.io/name": "vllm", "app.kubernetes.io/instance": "gemma"}
        players.pod(pod, labels=labels, nodeName=node, initContainers=before)
        for name, text in said.items():
            self.logs[f"{players.namespace}/{pod}/{name}"] = text
