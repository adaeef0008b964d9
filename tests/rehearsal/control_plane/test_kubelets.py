"""Nodes whose kubelets are kwok's, at a real API server."""

import time
from unittest import mock

import pytest

from rehearsal.control_plane import kubelets as module
from rehearsal.control_plane.client import Client, ControlPlaneError
from rehearsal.control_plane.crds import CrdError
from rehearsal.control_plane.kubelets import API, NODE_STAGES, POD_STAGES, kubelets
from rehearsal.toolchain import kwok
from rehearsal.toolchain.executable import Executable


@pytest.fixture(scope="module")
def nodes(server, tmp_path_factory):
    place = tmp_path_factory.mktemp("kwok")
    with kubelets(server, place, name="pods-run", kwok_stages=(*NODE_STAGES, *POD_STAGES)) as running:
        yield running


def until(ask, seconds=10.0):
    end = time.monotonic() + seconds
    while not (found := ask()):
        assert time.monotonic() < end
        time.sleep(0.02)
    return found


def ready(client, path):
    conditions = client.get(path).body.get("status", {}).get("conditions") or []
    return any(it["type"] == "Ready" and it["status"] == "True" for it in conditions)


def pod(name, node):
    spec = {"nodeName": node, "containers": [{"name": "c", "image": "registry.example/x"}]}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": spec}


def test_its_own_nodes_become_ready_and_pods_on_them_run(server, nodes, space):
    with Client(server) as client:
        assert client.create("/api/v1/nodes", nodes.node("own", zone="a")).ok
        until(lambda: ready(client, "/api/v1/nodes/own"))
        assert client.get("/api/v1/nodes/own").body["metadata"]["labels"]["zone"] == "a"
        account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "default"}}
        client.create(f"/api/v1/namespaces/{space}/serviceaccounts", account)
        assert client.create(f"/api/v1/namespaces/{space}/pods", pod("runs", "own")).ok
        until(lambda: ready(client, f"/api/v1/namespaces/{space}/pods/runs"))


def test_nodes_of_others_stay_as_they_are(server, nodes):
    with Client(server) as client:
        other = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "another-s"}}
        assert client.create("/api/v1/nodes", other).ok
        assert client.create("/api/v1/nodes", nodes.node("own-later")).ok
        until(lambda: ready(client, "/api/v1/nodes/own-later"))
        assert not ready(client, "/api/v1/nodes/another-s")


def test_a_log_is_what_its_object_says(server, nodes, space, tmp_path):
    (tmp_path / "log").write_text("2026-11-30T10:00:00.000000000Z stdout F hello\n")
    with Client(server) as client:
        assert client.create("/api/v1/nodes", nodes.node("logs")).ok
        until(lambda: ready(client, "/api/v1/nodes/logs"))
        assert client.create(f"/api/v1/namespaces/{space}/pods", pod("says", "logs")).ok
        spec = {"logs": [{"containers": ["c"], "logsFile": str(tmp_path / "log")}]}
        made = {"apiVersion": API, "kind": "Logs", "metadata": {"name": "says"}, "spec": spec}
        assert client.create(f"/apis/{API}/namespaces/{space}/logs", made).ok
        until(lambda: client.get(f"/api/v1/namespaces/{space}/pods/says/log?container=c").text == "hello\n")


def test_its_kubeconfig_is_for_nobody_else(server, tmp_path):
    with kubelets(server, tmp_path / "kwok", name="private"):
        assert (tmp_path / "kwok" / "kubeconfig").stat().st_mode & 0o777 == 0o600


def test_a_kwok_that_ends_at_once_is_one_line(server, tmp_path, monkeypatch):
    real = kwok.find()
    broken = tmp_path / "kwok"
    broken.write_text("#!/bin/sh\necho 'no stages found' >&2\nexit 1\n")
    broken.chmod(0o755)
    monkeypatch.setattr(kwok, "find", lambda: Executable(path=broken, version=real.version))
    with pytest.raises(ControlPlaneError) as failed, kubelets(server, tmp_path / "place"):
        pass
    assert str(failed.value) == "kwok v0.8.0 stopped (exit 1); last lines: no stages found"


def test_a_module_that_was_changed_is_refused(server, tmp_path):
    with (
        mock.patch.object(module.crds, "checksum", return_value="h1:other"),
        pytest.raises(CrdError, match=r"is not what go\.sum of .*/toolchain/kwok names$"),
        kubelets(server, tmp_path),
    ):
        pass
