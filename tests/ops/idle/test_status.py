"""`ops idle status` before a real API server with Karpenter's own definitions."""

import json
from datetime import UTC, datetime, timedelta

import pytest

from ops.idle.status import look
from rehearsal.control_plane.client import Client
from rehearsal.control_plane.discovery import Discovery
from rehearsal.control_plane.installation import install

POOL = "rtx-pro-6000"
CLASS = {"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": "x"}
CLAIMS = "/apis/karpenter.sh/v1/nodeclaims"


@pytest.fixture(scope="session")
def karpenter(api):
    """Its definitions in the API server, where another test has not left them."""
    with Client(api) as client:
        install(client, Discovery(client), [("karpenter.sh/v1", it) for it in ("NodeClaim", "NodePool")], None, None)


@pytest.fixture
def node(players, karpenter):
    """`node(...)`: an empty node with its NodeClaim, gone after the test."""
    template = {"spec": {"nodeClassRef": CLASS, "requirements": []}}
    spec = {"disruption": {"consolidateAfter": "10m", "consolidationPolicy": "WhenEmpty"}, "template": template}
    pools = "/apis/karpenter.sh/v1/nodepools"
    name = f"{POOL}-{players.namespace}"
    players.create(pools, "karpenter.sh/v1", "NodePool", name, {"spec": spec})
    made = [f"{pools}/{name}"]

    def make(kind, market, *, empty_for):
        node = f"{kind}-{players.namespace}"
        labels = {
            "vllm-eks/pool": POOL,
            "karpenter.sh/nodepool": name,
            "karpenter.sh/capacity-type": market,
            "node.kubernetes.io/instance-type": "g7e.2xlarge",
        }
        players.create("/api/v1/nodes", "v1", "Node", node, {}, labels=labels)
        spec = {"nodeClassRef": CLASS, "requirements": []}
        players.create(CLAIMS, "karpenter.sh/v1", "NodeClaim", f"claim-{node}", {"spec": spec})
        since = (datetime.now(UTC) - timedelta(seconds=empty_for)).strftime("%Y-%m-%dT%H:%M:%SZ")
        with Client(players.api) as client:
            status = {"nodeName": node, "lastPodEventTime": since}
            answer = client.merge(f"{CLAIMS}/claim-{node}/status", {"status": status})
            assert answer.ok, answer.message
        made.extend([f"/api/v1/nodes/{node}", f"{CLAIMS}/claim-{node}"])
        return node

    yield make
    for path in made:
        players._delete(path)


@pytest.fixture
def status(ops, players):
    return lambda *more: ops("idle", "status", "--kubeconfig", players.kubeconfig, *more)


def test_an_empty_node_and_when_it_goes(status, node):
    name = node("empty", "spot", empty_for=240)
    code, out, _ = status()
    (line,) = [line for line in out.splitlines() if line.startswith(name)]
    assert (code, out.splitlines()[0]) == (0, "no server sleeps or is stopped")
    assert line.split()[1:6] == [POOL, "g7e.2xlarge", "spot", "empty", line.split()[5]]
    assert float(line.split()[5]) == pytest.approx(4, abs=0.5)
    assert float(line.partition(" in ")[2].split()[0]) == pytest.approx(6, abs=0.5)
    assert line.split()[-1] == "unknown"
    assert out.splitlines()[-1] == (
        f"gpuPools.{POOL}.prices: nobody knows what g7e.2xlarge costs in us-west-2; expected `prices: {{g7e.2xlarge:"
        f" <USD an hour>}}` below gpuPools.{POOL} in Pulumi.dev.yaml"
    )
    found = json.loads(status("--json")[1])["nodes"][0]
    gone = datetime.fromisoformat(found["goes"]) - datetime.fromisoformat(found["emptySince"])
    assert (found["nodeClaim"], gone) == (f"claim-{name}", timedelta(minutes=10))


def test_a_fall_back_is_told_with_its_command_and_its_price(status, node, players, edit, monkeypatch):
    edit(lambda settings: settings["gpuPools"][POOL].update(prices={"g7e.2xlarge": 3.6}))
    monkeypatch.setattr(look, "spot_now", lambda _: lambda _: 1.2)
    name = node("dear", "on-demand", empty_for=0)
    labels = {"app.kubernetes.io/name": "vllm", "app.kubernetes.io/instance": "gemma"}
    limits = {"resources": {"limits": {"nvidia.com/gpu": "1"}}}
    players.pod("gemma", limits, labels=labels, nodeName=name)
    code, out, _ = status()
    assert code == 0
    assert out.splitlines()[2] == "no idle GPU node (1 with work)"
    assert out.splitlines()[4:] == [
        f"{name}: on-demand (3.60 USD an hour) where Spot (now 1.20) was wanted: 2.40 USD an hour more; Karpenter moves"
        " nothing back by itself, it takes empty nodes alone",
        f"  back to Spot: kubectl delete nodeclaim claim-{name}",
        "  costs a start: 176 s (predicted) without this pod of gemma, paid by what is saved after 88 s; on-demand"
        " again when Spot has no capacity then",
    ]


def test_a_spot_price_that_nobody_tells_is_exit_code_3_with_everything_else(status, node):
    name = node("dear", "on-demand", empty_for=0)
    code, out, _ = status()
    assert code == 3
    assert f"back to Spot: kubectl delete nodeclaim claim-{name}" in out
    assert out.splitlines()[-1] == (
        f"could not tell: node {name}: Spot price of g7e.2xlarge in us-west-2: Unable to locate credentials; sign in:"
        " aws sso login, or AWS_PROFILE=<a profile of the stack's account> (needs ec2:DescribeSpotPriceHistory)"
    )


def test_a_server_without_pods_is_stopped(status, players, karpenter):
    labels = {"app": "x"}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    body = {"spec": {"replicas": 0, "selector": {"matchLabels": labels}, "template": template}}
    players.create(f"/apis/apps/v1/namespaces/{players.namespace}/deployments", "apps/v1", "Deployment", "gemma", body)
    code, out, _ = status()
    assert code == 0
    assert out.splitlines()[:2] == [
        "SERVER  STATE            FOR  WHERE",
        "gemma   stopped by hand  -    `pulumi up` starts it",
    ]
    assert out.splitlines()[-1] == "no GPU node"


def test_who_may_not_look_at_nodes_is_told(ops, folder, players):
    path = f"/api/v1/namespaces/{players.namespace}/serviceaccounts/default/token"
    body = {"spec": {"audiences": []}}
    token = players.create(path, "authentication.k8s.io/v1", "TokenRequest", "default", body)["status"]["token"]
    kubeconfig = folder / "nobody"
    kubeconfig.write_text((folder / "kubeconfig").read_text().replace(players.api.token, token))
    code, out, err = ops("idle", "status", "--kubeconfig", "nobody")
    assert (code, out) == (3, "")
    assert 'cannot list resource "pods"' in err
