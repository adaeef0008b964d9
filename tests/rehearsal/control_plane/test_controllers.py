"""kube-controller-manager and kube-scheduler beside the API server: a Deployment gets a pod, and the pod a node."""

from __future__ import annotations

import pytest

from rehearsal.control_plane.client import Client, ControlPlaneError
from rehearsal.control_plane.controllers import controlled
from rehearsal.control_plane.server import control_plane
from rehearsal.toolchain.executable import Executable
from tests.rehearsal.conftest import wait_for
from tests.rehearsal.control_plane.conftest import processes
from tests.rehearsal.control_plane.objects import deployment, namespace


@pytest.fixture(scope="module")
def alone(tmp_path_factory):
    """An API server of its own: in that of the other tests nobody acts but they."""
    with control_plane(tmp_path_factory.mktemp("controlled")) as running:
        yield running


def test_a_deployment_gets_a_pod_and_the_pod_a_node_and_nothing_is_left_running(alone, tmp_path):
    with controlled(alone, tmp_path / "controllers") as both, Client(alone) as client:
        assert [it.stopped() for it in both] == [None, None]
        assert client.create("/api/v1/namespaces", namespace("acted")).ok
        made = client.create("/apis/apps/v1/namespaces/acted/deployments", deployment("acted", "x"))
        assert made.ok, made.message
        pods = "/api/v1/namespaces/acted/pods"
        wait_for(lambda: client.get(pods).body["items"])
        node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}}
        assert client.create("/api/v1/nodes", node).ok
        has = {"cpu": "1", "memory": "1Gi", "pods": "9"}
        ready = [{"type": "Ready", "status": "True"}]
        status = {"capacity": has, "allocatable": has, "conditions": ready}
        assert client.merge("/api/v1/nodes/n/status", {"status": status}).ok
        wait_for(lambda: client.get(pods).body["items"][0]["spec"].get("nodeName") == "n")
        assert len(processes(str(tmp_path))) >= 2
    assert processes(str(tmp_path)) == []


def test_a_program_that_stops_is_told_with_its_last_words(tmp_path):
    """An API server in which the controller manager has not worked yet."""
    path = tmp_path / "kube-scheduler"
    path.write_text("#!/bin/sh\necho no scheduler today\nexit 3\n")
    path.chmod(0o755)
    stub = Executable(path=path, version="1.36.3")
    with (
        control_plane(tmp_path / "api") as fresh,
        pytest.raises(ControlPlaneError) as caught,
        controlled(fresh, tmp_path / "controllers", (stub, stub)),
    ):
        pass
    assert str(caught.value) == "kube-scheduler v1.36.3 stopped (exit 3); last lines: no scheduler today"
