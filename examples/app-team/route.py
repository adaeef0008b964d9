"""Where the client's pods may go, as the spec of a NetworkPolicy. Policies see pods and addresses, never Services."""

from typing import Any

from needs import Needs

POD_IDENTITY = ("169.254.170.23/32", "fd00:ec2::23/128")
"""The agent on the pod's own node, on an IPv4 or an IPv6 cluster (EKS user guide, Pod Identity)."""


def policy(needs: Needs) -> dict[str, Any]:
    """Return the policy of all pods of the application's namespace: nothing comes in, and out goes what is listed."""
    return {
        "podSelector": {},
        "policyTypes": ["Ingress", "Egress"],
        "egress": [
            {
                "to": [{**_namespace(needs.namespace), "podSelector": {"matchLabels": dict(needs.pods.labels)}}],
                "ports": [_port(needs.pods.port)],
            },
            {
                "to": [{**_namespace("kube-system"), "podSelector": {"matchLabels": {"k8s-app": "kube-dns"}}}],
                "ports": [_port(53, "UDP"), _port(53)],
            },
            {"to": [_addresses(block) for block in POD_IDENTITY], "ports": [_port(80)]},
            {"to": [_addresses(block) for block in needs.s3_addresses], "ports": [_port(443)]},
        ],
    }


def _namespace(name: str) -> dict[str, Any]:
    return {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": name}}}


def _addresses(block: str) -> dict[str, Any]:
    return {"ipBlock": {"cidr": block}}


def _port(number: int, protocol: str = "TCP") -> dict[str, Any]:
    return {"port": number, "protocol": protocol}
