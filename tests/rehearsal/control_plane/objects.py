"""Kubernetes objects for the tests, each right until a test breaks it."""

from __future__ import annotations

from typing import Any

from rehearsal.control_plane.objects.manifest import Manifest

Body = dict[str, Any]
IMAGE = "registry.example/server@sha256:" + "0" * 64


def urn(body: Body) -> str:
    return f"urn:pulumi:dev::p::{body['kind']}::{body['metadata'].get('name')}"


def manifests(*bodies: Body) -> list[Manifest]:
    return [Manifest(urn=urn(body), body=body) for body in bodies]


def made(api_version: str, kind: str, name: str, namespace: str | None = None, **rest: Any) -> Body:
    metadata = {"name": name} | ({"namespace": namespace} if namespace else {})
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata, **rest}


def namespace(name: str, **labels: str) -> Body:
    body = made("v1", "Namespace", name)
    body["metadata"]["labels"] = labels
    return body


def container(**more: Any) -> Body:
    return {"name": "server", "image": IMAGE, **more}


def template(*containers: Body, **pod: Any) -> Body:
    return {"metadata": {"labels": {"app": "x"}}, "spec": {"containers": list(containers or [container()]), **pod}}


def deployment(space: str, name: str, *containers: Body, **pod: Any) -> Body:
    spec = {"selector": {"matchLabels": {"app": "x"}}, "template": template(*containers, **pod)}
    return made("apps/v1", "Deployment", name, space, spec=spec)


def service(space: str, name: str, port: int = 80) -> Body:
    return made("v1", "Service", name, space, spec={"selector": {"app": "x"}, "ports": [{"port": port}]})


def node_pool(name: str, *requirements: Body) -> Body:
    reference = {"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": "gpu"}
    spec = {"template": {"spec": {"nodeClassRef": reference, "requirements": list(requirements)}}}
    return made("karpenter.sh/v1", "NodePool", name, spec=spec)


def node_class(name: str, **more: Any) -> Body:
    spec = {
        "role": "node",
        "amiSelectorTerms": [{"alias": "al2023@v20260101"}],
        "subnetSelectorTerms": [{"id": "subnet-0123456789abcdef0"}],
        "securityGroupSelectorTerms": [{"id": "sg-0123456789abcdef0"}],
        **more,
    }
    return made("karpenter.k8s.aws/v1", "EC2NodeClass", name, spec=spec)
