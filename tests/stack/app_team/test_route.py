"""Whether a packet gets from the client to the server: both policies read against both sides' rendered pods."""

import ipaddress
from collections.abc import Iterator
from typing import Any

import pytest

from serving.engine import PORT
from tests.harness import Recording, record_program, stack_settings
from tests.stack.app_team import DEPLOYMENT

POLICY = "kubernetes:networking.k8s.io/v1:NetworkPolicy"
SERVERS, SYSTEM = "inference", "kube-system"
DNS = {"k8s-app": "kube-dns"}
PodPlace = tuple[str, dict[str, str]]
"""Namespace and labels."""


def selects(selector: dict[str, Any] | None, labels: dict[str, str]) -> bool:
    assert set(selector or {}) <= {"matchLabels"}, "matchExpressions are not read here"
    return selector is not None and (selector.get("matchLabels") or {}).items() <= labels.items()


def peers(rule: dict[str, Any], key: str, other: PodPlace | str) -> bool:
    """Whether the other side is one of a rule's; an absent list is everybody."""
    if not rule.get(key):
        return True
    for peer in rule[key]:
        if "ipBlock" in peer:
            block = ipaddress.ip_network(peer["ipBlock"]["cidr"])
            assert peer["ipBlock"].keys() == {"cidr"}, "except is not read here"
            if isinstance(other, str) and ipaddress.ip_address(other) in block:
                return True
        elif not isinstance(other, str):
            namespace, labels = other
            # a selector of pods alone means the policy's own namespace, which the other side never is here
            found = selects(peer.get("namespaceSelector"), {"kubernetes.io/metadata.name": namespace})
            if found and selects(peer.get("podSelector", {}), labels):
                return True
    return False


def lets(rules: list[dict[str, Any]], key: str, other: PodPlace | str, port: int, protocol: str = "TCP") -> bool:
    return any(
        peers(rule, key, other)
        and (not rule.get("ports") or any((it["port"], it["protocol"]) == (port, protocol) for it in rule["ports"]))
        for rule in rules
    )


def labels_of(recording: Recording) -> dict[str, str]:
    return recording.one(DEPLOYMENT).inputs["spec"]["template"]["metadata"]["labels"]


@pytest.fixture
def out(recorded: Recording) -> list[dict[str, Any]]:
    return recorded.one(POLICY).inputs["spec"]["egress"]


def test_out_goes_what_is_for_the_server_and_in_it_is_let(
    recorded: Recording, dev: Recording, out: list[dict[str, Any]]
) -> None:
    server = dev.one(POLICY).inputs["spec"]
    assert selects(server["podSelector"], labels_of(dev))
    assert lets(out, "to", (SERVERS, labels_of(dev)), PORT)
    assert lets(server["ingress"], "from", ("app-team", labels_of(recorded)), PORT)
    # the port that is let through is the one that the container has, not the Service's by another number
    pod = dev.one(DEPLOYMENT).inputs["spec"]["template"]["spec"]
    ports = {it["name"]: it["containerPort"] for c in pod.get("initContainers", ()) for it in c.get("ports", ())}
    (service,) = dev.one("kubernetes:core/v1:Service").inputs["spec"]["ports"]
    assert ports[service["targetPort"]] == dev.outputs["servers"]["gemma"]["pods"]["port"]


def test_the_policy_holds_for_every_pod_of_the_namespace_and_lets_nobody_in(recorded: Recording) -> None:
    spec = recorded.one(POLICY).inputs["spec"]
    assert (spec["podSelector"], spec["policyTypes"]) == ({}, ["Ingress", "Egress"])
    assert "ingress" not in spec


def others() -> Iterator[tuple[PodPlace | str, int, str]]:
    labels = {"app.kubernetes.io/name": "vllm", "app.kubernetes.io/instance": "gemma"}
    for port in (8001, 8002, 8003, 22, 443):
        yield (SERVERS, labels), port, "TCP"
    yield (SERVERS, labels), PORT, "UDP"
    yield (SERVERS, {**labels, "app.kubernetes.io/instance": "qwen"}), PORT, "TCP"
    yield ("another", labels), PORT, "TCP"
    yield (SERVERS, {}), PORT, "TCP"
    yield (SYSTEM, DNS), 443, "TCP"
    yield (SYSTEM, {"k8s-app": "metrics-server"}), 53, "UDP"
    yield ("another", DNS), 53, "UDP"
    # the node's metadata, where its role lies; the agent's other ports; neighbours of S3; the internet; the API server
    yield "169.254.169.254", 80, "TCP"
    yield "169.254.170.23", 443, "TCP"
    yield "192.0.2.1", 80, "TCP"
    yield "192.0.3.1", 443, "TCP"
    yield "8.8.8.8", 443, "TCP"
    yield "172.20.0.1", 443, "TCP"
    yield "fd00:ec2::254", 80, "TCP"


@pytest.mark.parametrize(("other", "port", "protocol"), list(others()), ids=str)
def test_nothing_else_is_reached(out: list[dict[str, Any]], other: PodPlace | str, port: int, protocol: str) -> None:
    assert not lets(out, "to", other, port, protocol)


@pytest.mark.parametrize(
    ("other", "port", "protocol"),
    [
        ((SYSTEM, DNS), 53, "UDP"),
        ((SYSTEM, DNS), 53, "TCP"),
        ("169.254.170.23", 80, "TCP"),
        ("fd00:ec2::23", 80, "TCP"),
        ("192.0.2.1", 443, "TCP"),
        ("198.51.100.9", 443, "TCP"),
    ],
    ids=str,
)
def test_names_credentials_and_the_bucket_are_reached(
    out: list[dict[str, Any]], other: PodPlace | str, port: int, protocol: str
) -> None:
    assert lets(out, "to", other, port, protocol)


def test_the_published_labels_are_those_of_each_server_s_pods_and_of_no_other_pod() -> None:
    raw = stack_settings("dev")
    raw["gpuPools"]["rtx-pro-6000"]["maxGpus"] = 4
    raw["servers"]["gemma-2"] = raw["servers"]["gemma"]
    platform = record_program(raw)
    pods = [
        (r.kind, r.name, found["metadata"].get("labels", {}))
        for r in platform.registered
        if r.kind.startswith(("kubernetes:apps/", "kubernetes:batch/"))
        for found in templates(r.inputs["spec"])
    ]
    assert len(pods) > 3
    for name, server in platform.outputs["servers"].items():
        found = [(kind, owner) for kind, owner, labels in pods if server["pods"]["labels"].items() <= labels.items()]
        assert found == [(DEPLOYMENT, name)]


def templates(node: Any) -> Iterator[dict[str, Any]]:
    """Every pod template below a spec."""
    if isinstance(node, dict):
        if "containers" in (node.get("spec") or {}):
            yield node
        for inner in node.values():
            yield from templates(inner)
