"""`ops status` through a real API server, with Karpenter's own kinds in it."""

import json
from datetime import UTC, datetime, timedelta
from unittest import mock

import pytest

from ops.live import look
from rehearsal.control_plane.client import Client
from rehearsal.control_plane.discovery import Discovery
from rehearsal.control_plane.installation import install
from serving.engine import PORT
from tests.ops.live.stand import container
from tests.ops.players import NOW, POOL

RESTORED = 'cache-restore: outcome=hit restored=fingerprint bytes=228589568 files=1204 seconds=0.412 reason=""'


@pytest.fixture
def status(ops, stand):
    def run(*more, kubeconfig=None):
        code, out, err = ops("status", "--kubeconfig", kubeconfig or stand.players.kubeconfig, *more)
        lines = [line for line in err.splitlines() if not line.startswith("status: gemma")]
        return code, out, lines

    return run


@pytest.fixture
def later(monkeypatch):
    """`later(hours)`: that much later than it is."""

    def move(hours):
        moved = mock.Mock(wraps=datetime)
        moved.now = lambda zone: datetime.now(zone) + timedelta(hours=hours)
        moved.fromisoformat = datetime.fromisoformat
        monkeypatch.setattr(look, "datetime", moved)

    return move


def one(out):
    (found,) = json.loads(out)
    return found


def test_a_pod_is_shown_with_its_node_its_price_and_its_cache(status, stand, engine, edit):
    edit(lambda settings: settings["gpuPools"][POOL].update(prices={"g7e.2xlarge": 3.36}))
    engine.metrics = "vllm:num_requests_running 2.0\nvllm:num_requests_waiting 1.0\n"
    node = stand.node(capacity="spot")
    stand.pod("gemma-0", {PORT: engine.port}, before=("cache",), node=node)
    ended = {"terminated": {"exitCode": 0, "message": RESTORED, "startedAt": NOW, "finishedAt": NOW}}
    stand.players.status("pods", "gemma-0", {"initContainerStatuses": [container("cache", ended, ready=True)]})
    code, out, err = status("--json")
    found = one(out)
    assert 0 <= found.pop("nodeAgeSeconds") < 60
    assert (code, err) == (0, [])
    assert found == {
        "server": "gemma",
        "pod": "gemma-0",
        "state": "ready",
        "detail": None,
        "stateSeconds": None,
        "node": node,
        "instanceType": "g7e.2xlarge",
        "capacity": "spot",
        "onDemandFallback": False,
        "usdPerHour": None,
        "usdPerHourAtMost": 3.36,
        "cache": "hit (fingerprint, 218.0 MiB in 0.4 s)",
        "running": 2,
        "waiting": 1,
        "held": None,
        "unseen": [],
    }
    code, out, err = status("--check")
    assert (code, err) == (0, [])
    head, line = out.splitlines()
    assert head.split()[:3] == ["SERVER", "POD", "STATE"]
    assert [cell for cell in line.split("  ") if cell.strip()][-1].strip() == "< 3.36"


def test_an_on_demand_node_of_a_Spot_first_pool_is_a_fall_back_and_too_old_at_the_limit(status, stand, engine, later):
    node = stand.node(capacity="on-demand")
    stand.pod("gemma-0", {PORT: engine.port}, node=node)
    code, out, err = status("--check")
    assert (code, err) == (0, [])
    assert "on-demand (fall-back " in out
    later(3)
    assert status("--check", "--max-fallback", "4h")[0] == 0
    code, out, err = status("--check")
    assert (code, err) == (
        1,
        [
            f"servers.gemma: node {node} has been an on-demand fall-back for 3 h > 2h:"
            " .venv/bin/python -m ops idle status says how to ask for Spot again, and what that costs"
        ],
    )
    assert status()[0] == 0


def test_an_on_demand_pool_has_no_fall_back(status, stand, engine, edit):
    edit(lambda settings: settings["gpuPools"][POOL].update(capacity="on-demand"))
    stand.pod("gemma-0", {PORT: engine.port}, node=stand.node(capacity="on-demand"))
    assert one(status("--json")[1])["onDemandFallback"] is False


def test_a_starting_engine_says_what_it_is_at(status, stand, folder):
    (folder / "log").write_text(
        "2026-11-30T10:00:00.000000000Z stdout F INFO version 0.33.0\n"
        "2026-11-30T10:00:01.000000000Z stdout F Resolved architecture: X\n"
        "2026-11-30T10:00:02.000000000Z stdout F Initializing a V1 LLM engine (v0.33.0)\n"
        "2026-11-30T10:00:03.000000000Z stdout F Starting to load model\n"
    )
    stand.pod("gemma-0", ready=False)
    stand.logs("gemma-0", "vllm", folder / "log")
    found = one(status("--json")[1])
    assert (found["state"], found["detail"], found["running"]) == ("starting", "engine: load", None)


def test_a_log_that_cannot_be_read_is_a_doubt(status, stand):
    stand.pod("gemma-0", ready=False)
    code, _, err = status("--check")
    assert (code, len(err)) == (3, 1)
    assert err[0].startswith("servers.gemma: pod gemma-0: cannot tell: the engine's log: ")


@pytest.fixture
def claims(stand):
    with Client(stand.players.api) as client:
        install(client, Discovery(client), [("karpenter.sh/v1", "NodeClaim")], None, None)
    yield lambda name, **condition: claim(stand, name, condition)
    for made in stand.cluster().list("/apis/karpenter.sh/v1/nodeclaims"):
        path = f"/apis/karpenter.sh/v1/nodeclaims/{made['metadata']['name']}"
        stand.cluster().delete(path, made["metadata"]["uid"])


def claim(stand, name, condition):
    api = "karpenter.sh/v1"
    reference = {"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": "x"}
    spec = {"nodeClassRef": reference, "requirements": []}
    stand.players.create(
        f"/apis/{api}/nodeclaims", api, "NodeClaim", name, {"spec": spec}, labels={"karpenter.sh/nodepool": POOL}
    )
    conditions = [{"reason": "X", "message": "", "lastTransitionTime": NOW, **condition}]
    with Client(stand.players.api) as client:
        assert client.merge(f"/apis/{api}/nodeclaims/{name}/status", {"status": {"conditions": conditions}}).ok


def event(stand, namespace, reason, message, about):
    at = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    rest = {"reason": reason, "message": message, "involvedObject": about, "type": "Warning", "lastTimestamp": at}
    name = f"e-{stand.namespace}-{reason.lower()}"
    path = f"/api/v1/namespaces/{namespace}/events"
    stand.players.create(path, "v1", "Event", name, {**rest, "source": {"component": "karpenter"}})


@pytest.fixture
def pending(stand):
    labels = {"app.kubernetes.io/name": "vllm", "app.kubernetes.io/instance": "gemma"}
    return stand.players.pod("gemma-0", labels=labels)


def test_a_pod_that_has_no_node_says_why_without_Karpenter_s_kinds(status, stand, pending):
    about = {"kind": "Pod", "name": "gemma-0", "namespace": stand.namespace, "uid": pending["metadata"]["uid"]}
    event(stand, stand.namespace, "FailedScheduling", "Failed to schedule pod, no instance type", about)
    code, out, err = status("--check")
    assert (code, err) == (0, [])
    assert out.splitlines()[-1] == "gemma/gemma-0: pending: Failed to schedule pod, no instance type"


def test_a_quota_is_told_from_capacity_by_Karpenter_s_event(status, stand, pending, claims):
    """Its claim is gone at once; events of what has no namespace are in `default`."""
    message = f"NodeClaim {POOL}-x7k2p event: with fleet error(s), VcpuLimitExceeded: You have requested more"
    event(stand, "default", "InsufficientCapacityError", message, {"kind": "NodeClaim", "name": f"{POOL}-x7k2p"})
    found = one(status("--json")[1])
    said = "no quota: with fleet error(s), VcpuLimitExceeded: You have requested more"
    assert (found["state"], found["detail"], found["node"]) == ("pending", said, None)
    claims(f"{POOL}-abcde", type="Launched", status="True")
    said = f"a node was launched and is no node yet (nodeclaim {POOL}-abcde)"
    assert one(status("--json")[1])["detail"] == said


def test_what_may_not_be_read_is_a_doubt_and_the_rest_is_shown(status, stand, pending, engine, folder):
    stand.pod("gemma-1", {PORT: engine.port})
    user = stand.user(folder / "user", ("", "pods", "list"), ("apps", "deployments", "get"))
    code, out, err = status("--check", kubeconfig=user)
    assert code == 3
    assert [line.partition(": cannot tell: ")[2].partition(":")[0] for line in err] == [
        "why it is pending",
        "its node",
        "its requests",
    ]
    assert "cannot list resource" in err[0]
    assert 'cannot get resource "nodes"' in err[1]
    assert err[2].endswith(" (it takes get and create of pods/portforward)")
    code, out, err = status(kubeconfig=user)
    assert (code, err, "gemma-1" in out) == (0, [], True)


def test_pods_that_may_not_be_listed_are_the_end(status, stand, folder):
    code, out, err = status(kubeconfig=stand.user(folder / "user"))
    assert (code, out, len(err)) == (3, "", 1)
    assert 'cannot list resource "pods"' in err[0]


def test_a_server_that_the_clock_has_stopped_is_no_failure(status, stand):
    stand.deployment(0, **{"vllm-eks/idle": "clock"})
    code, out, err = status("--check")
    assert (code, err) == (0, [])
    assert "scaled to zero by the clock" in out.splitlines()[1]


def test_all_servers_are_shown_or_the_one_that_is_asked_for(status, stand, edit):
    def second(settings):
        settings["servers"]["other"] = {**settings["servers"]["gemma"]}

    edit(second)
    assert [it["server"] for it in json.loads(status("--json")[1])] == ["gemma", "other"]
    assert [it["server"] for it in json.loads(status("--json", "--server", "other")[1])] == ["other"]


def test_usage(ops, folder):
    assert ops("status", "--server", "x") == (2, "", "--server x: not in Pulumi.dev.yaml; expected one of gemma\n")
    assert ops("status", "--max-fallback", "soon") == (
        2,
        "",
        "--max-fallback soon: expected a time such as 30m, 2h or 1d\n",
    )


def test_an_engine_that_is_awake_in_a_pod_that_is_not_ready_is_not_ready(status, stand, engine, monkeypatch):
    stand.pod("gemma-0", {PORT: engine.port}, sidecars=("agent",))
    conditions = [{"type": "Ready", "status": "False", "lastTransitionTime": NOW}]
    stand.players.status("pods", "gemma-0", {"conditions": conditions})
    monkeypatch.setattr(look, "said_by_agent", lambda *_: {"state": "awake", "seconds": 3, "held": 0})
    assert one(status("--json")[1])["state"] == "not ready"


def test_who_may_not_read_deployments_sees_the_other_servers(status, stand, folder):
    kubeconfig = stand.user(folder / "user", ("", "pods", "list"))
    code, out, err = status("--json", "--check", kubeconfig=kubeconfig)
    assert (code, one(out)["state"]) == (3, "no pod")
    assert len(err) == 1
    assert err[0].startswith("servers.gemma: cannot tell: why it has none: ")
    assert 'cannot get resource "deployments"' in err[0]
