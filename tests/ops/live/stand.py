"""Pods of a server on kwok's nodes, whose ports lead to programs on loopback; and an engine that a test controls."""

from __future__ import annotations

import itertools
import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from ops.cluster.api import Cluster, Said
from ops.cluster.kubeconfig import client_of
from ops.cluster.tunnel import CutError, connection
from rehearsal.control_plane.client import Client
from rehearsal.control_plane.kubelets import API, Kubelets
from tests.ops.players import IMAGE, NOW, Body, Players
from tests.serving.scripts.stands.loopback import Quiet, Server

WAIT = "/wait"
"""What `Stand.port_leads` asks for until kubelet knows where the port leads."""


@dataclass
class Engine:
    """Answers on loopback. Everything that a test changes is an attribute."""

    port: int
    chunks: list[bytes | Callable[[], object]] = field(default_factory=list)
    """Pieces of the stream; what can be called is called between them."""
    ends: bool = True
    """The stream has its last chunk."""
    refuses: tuple[int, dict[str, str], bytes] | None = None
    metrics: str = "vllm:num_requests_running 0.0\nvllm:num_requests_waiting 0.0\n"
    asked: list[tuple[str, dict[str, str], bytes]] = field(default_factory=list)

    @staticmethod
    @contextmanager
    def serving() -> Iterator[Engine]:
        class Handler(Quiet):
            def do_GET(self) -> None:
                self.answer(200, made.metrics.encode())

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                made.asked.append((self.path, dict(self.headers), body))
                if made.refuses:
                    status, headers, text = made.refuses
                    self.answer(status, text, **headers)
                    return
                self.send_response(200)
                self.send_header("Transfer-Encoding", "chunked")
                self.end_headers()
                for piece in made.chunks:
                    if callable(piece):
                        piece()
                    else:
                        self.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece))
                        self.wfile.flush()
                if made.ends:
                    self.wfile.write(b"0\r\n\r\n")
                else:
                    self.close_connection = True

        server = Server(("127.0.0.1", 0), Handler)
        made = Engine(server.server_port)
        server.start()
        yield made
        server.stop()

    def says(self, *texts: str, finish: str | None = "stop", tokens: int | None = None, key: str = "content") -> None:
        """Stream these texts."""
        parts = [{"choices": [{"delta": {"role": "assistant", "content": ""}}]}]
        parts += [{"choices": [{"delta": {key: text}}]} for text in texts]
        if finish:
            parts.append({"choices": [{"delta": {}, "finish_reason": finish}]})
            parts.append({"choices": [], "usage": {"completion_tokens": len(texts) if tokens is None else tokens}})
        self.chunks = [b"data: %s\n\n" % json.dumps(part).encode() for part in parts]
        self.chunks += [b"data: [DONE]\n\n"] if finish else []


@dataclass(frozen=True)
class Stand:
    """The namespace of a test, and the nodes in it."""

    players: Players
    kubelets: Kubelets
    numbers: Iterator[int] = field(default_factory=itertools.count)

    @property
    def namespace(self) -> str:
        return self.players.namespace

    def cluster(self) -> Cluster:
        client = client_of(Path(self.players.kubeconfig))
        return Cluster(client, client.configuration.host, Said.listening())

    def node(self, *, kind: str = "g7e.2xlarge", capacity: str = "spot") -> str:
        name = f"node-{next(self.numbers)}-{self.namespace}"
        labels = {"node.kubernetes.io/instance-type": kind, "karpenter.sh/capacity-type": capacity}
        with Client(self.players.api) as client:
            assert client.create("/api/v1/nodes", self.kubelets.node(name, **labels)).ok
            wanted = {"addresses", "daemonEndpoints"}
            until(lambda: wanted <= client.get(f"/api/v1/nodes/{name}").body.get("status", {}).keys())
        return name

    def pod(
        self,
        name: str,
        ports: dict[int, int] | None = None,
        *,
        sidecars: tuple[str, ...] = (),
        before: tuple[str, ...] = (),
        tokens_in: str = "",
        node: str | None = None,
        labels: dict[str, str] | None = None,
        ready: bool = True,
        server: str = "gemma",
    ) -> Body:
        """A pod of a server that runs, and where its ports lead."""
        first = [{"name": each, "image": IMAGE} for each in before]
        first += [{"name": each, "image": IMAGE, "restartPolicy": "Always"} for each in sidecars]
        volumes = [{"name": "front-tokens", "secret": {"secretName": tokens_in}}] if tokens_in else []
        own = {"app.kubernetes.io/name": "vllm", "app.kubernetes.io/instance": server, **(labels or {})}
        made = self.players.pod(
            name,
            labels=own,
            nodeName=node or self.node(),
            initContainers=first,
            volumes=volumes,
            restartPolicy="Always",
        )
        runs = [container(each, {"running": {"startedAt": NOW}}, ready=ready) for each in sidecars]
        ended = {"terminated": {"exitCode": 0, "startedAt": NOW, "finishedAt": NOW}}
        runs = [container(each, ended, ready=True) for each in before] + runs
        self.players.status(
            "pods",
            name,
            {
                "phase": "Running",
                "conditions": [{"type": "Ready", "status": str(ready), "lastTransitionTime": NOW}],
                "initContainerStatuses": runs,
                "containerStatuses": [container("vllm", {"running": {"startedAt": NOW}}, ready=ready)],
            },
        )
        if ports:
            self.lead(name, ports)
        return made

    def lead(self, pod: str, ports: dict[int, int]) -> None:
        """Have ports of a pod lead to ports on loopback, and wait until its kubelet knows.

        When a target closes its connection kwok holds the stream all the same: `Closing` is a kubelet that does not.
        """
        forwards = [
            {"ports": [port], "target": {"address": "127.0.0.1", "port": target}} for port, target in ports.items()
        ]
        path = f"/apis/{API}/namespaces/{self.namespace}/portforwards"
        self.players.create(path, API, "PortForward", pod, {"spec": {"forwards": forwards}})
        until(lambda: self._led(pod, next(iter(ports))))

    def _led(self, pod: str, port: int) -> bool:
        try:
            with connection(self.cluster(), self.namespace, pod, port) as opened:
                opened.request("GET", WAIT)
                opened.getresponse().read()
        except CutError as error:
            return "forward found" not in str(error) and "forward not found" not in str(error)
        return True

    def logs(self, pod: str, container: str, file: Path) -> None:
        """Have a container's log be this file."""
        path = f"/apis/{API}/namespaces/{self.namespace}/logs"
        logs = [{"containers": [container], "logsFile": str(file)}]
        self.players.create(path, API, "Logs", pod, {"spec": {"logs": logs}})

    def secret(self, name: str, text: str) -> None:
        path = f"/api/v1/namespaces/{self.namespace}/secrets"
        self.players.create(path, "v1", "Secret", name, {"stringData": {"tokens.map": text}})

    def deployment(self, replicas: int, **annotations: str) -> None:
        labels = {"app.kubernetes.io/name": "vllm", "app.kubernetes.io/instance": "gemma"}
        template = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "vllm", "image": IMAGE}]}}
        spec = {"replicas": replicas, "selector": {"matchLabels": labels}, "template": template}
        path = f"/apis/apps/v1/namespaces/{self.namespace}/deployments"
        self.players.create(path, "apps/v1", "Deployment", "gemma", {"spec": spec}, annotations=annotations)

    def delete(self, pod: str) -> None:
        self.players._delete(f"/api/v1/namespaces/{self.namespace}/pods/{pod}?gracePeriodSeconds=0")

    def user(self, file: Path, *rules: tuple[str, str, str]) -> str:
        """The kubeconfig of somebody with these rights in the namespace alone: group, resource, verbs with commas."""
        name, group = f"user-{next(self.numbers)}", "rbac.authorization.k8s.io"
        base = f"/apis/{group}/v1/namespaces/{self.namespace}"
        account = f"/api/v1/namespaces/{self.namespace}/serviceaccounts"
        self.players.create(account, "v1", "ServiceAccount", name, {})
        given = [{"apiGroups": [api], "resources": [what], "verbs": verbs.split(",")} for api, what, verbs in rules]
        self.players.create(f"{base}/roles", f"{group}/v1", "Role", name, {"rules": given})
        whom = [{"kind": "ServiceAccount", "name": name, "namespace": self.namespace}]
        role = {"apiGroup": group, "kind": "Role", "name": name}
        bound = {"subjects": whom, "roleRef": role}
        self.players.create(f"{base}/rolebindings", f"{group}/v1", "RoleBinding", name, bound)
        with Client(self.players.api) as client:
            answer = client.create(f"{account}/{name}/token", {"spec": {"expirationSeconds": 3600}})
        tree = self.players.api.kubeconfig()
        tree["users"][0]["user"]["token"] = answer.body["status"]["token"]
        file.write_text(yaml.safe_dump(tree))
        return str(file)


def container(name: str, state: Body, *, ready: bool, **more: Any) -> Body:
    status = {"name": name, "image": IMAGE, "imageID": "", "restartCount": 0, "ready": ready, "state": state}
    return {**status, "started": "running" in state and ready, **more}


def until(condition: Callable[[], object], seconds: float = 10) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it does not come true"
        time.sleep(0.02)
