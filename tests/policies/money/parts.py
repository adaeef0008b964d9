"""Pools, pods and networks of another team, each without a fault."""

from __future__ import annotations

import copy
from typing import Any

from guardrails.money import ENDPOINT, NAT, ROUTE
from guardrails.pods import DEPLOYMENT
from guardrails.pools import NODE_CLASS, NODE_POOL
from guardrails.rule import Resource
from tests.policies.conftest import UNKNOWN, resource

SPEC: dict[str, Any] = {
    "limits": {"nvidia.com/gpu": "2"},
    "disruption": {"consolidationPolicy": "WhenEmpty", "consolidateAfter": "10m"},
    "template": {
        "spec": {
            "nodeClassRef": {"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": "l4"},
            "taints": [{"key": "nvidia.com/gpu", "value": "true", "effect": "NoSchedule"}],
            "requirements": [
                {"key": "karpenter.k8s.aws/instance-gpu-name", "operator": "In", "values": ["l4"]},
                {"key": "karpenter.sh/capacity-type", "operator": "In", "values": ["spot", "on-demand"]},
            ],
        }
    },
}
DRIFT_LATER = {"nodes": "0", "reasons": ["Drifted"], "schedule": "0 7 * * *", "duration": "12h"}


def pool(path: str = "", value: Any = None, **options: Any) -> Resource:
    """Return a pool with a value in place of what lies at a path below its spec; None takes it away."""
    spec = copy.deepcopy(SPEC)
    if path:
        *keys, at = [int(key) if key.isdigit() else key for key in path.split("|")]
        place: Any = spec
        for key in keys:
            place = place[key] if isinstance(place, list) else place.setdefault(key, {})
        if value is None:
            place.pop(at, None)
        else:
            place[at] = value
    return resource(NODE_POOL, {"metadata": {"name": "l4"}, "spec": spec}, "pool", **options)


def node_class(user_data: Any, name: Any = "l4", title: str = "class") -> Resource:
    return resource(NODE_CLASS, {"metadata": {"name": name}, "spec": {"userData": user_data}}, title)


def server(*words: Any, annotations: Any = None, of_pod: Any = None, sidecar: Any = None) -> Resource:
    containers = [
        {"name": "side", "args": sidecar or ["sidecar"]},
        {"name": "vllm", "args": list(words), "resources": {"limits": {"nvidia.com/gpu": 1}}},
    ]
    props = {
        "metadata": {"name": "chat", "annotations": annotations},
        "spec": {"template": {"metadata": {"annotations": of_pod}, "spec": {"containers": containers}}},
    }
    return resource(DEPLOYMENT, props, "chat")


def nat(**props: Any) -> Resource:
    return resource(NAT, {"subnetId": UNKNOWN, **props}, "nat")


def way(gateway: Resource, *tables: Resource, **props: Any) -> Resource:
    """Return the default route of a table by a gateway."""
    sources = {"natGatewayId": [gateway], "routeTableId": tables}
    given = {"natGatewayId": UNKNOWN, "routeTableId": UNKNOWN, "destinationCidrBlock": "0.0.0.0/0", **props}
    return resource(ROUTE, given, "way", sources=sources)


def endpoint(*tables: Resource, **props: Any) -> Resource:
    given = {"vpcEndpointType": "Gateway", "serviceName": "com.amazonaws.us-west-2.s3", **props}
    return resource(ENDPOINT, given, "s3", sources={"routeTableIds": tables})
