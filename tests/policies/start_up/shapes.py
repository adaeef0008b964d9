"""Workloads and pools as a short line makes them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from guardrails.pods import DEPLOYMENT
from guardrails.pools import NODE_POOL
from guardrails.rule import Resource
from tests.policies.conftest import resource

POOL = "team/pool"
TOLERATION = {"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}
TAINT = {"key": "nvidia.com/gpu", "value": "true", "effect": "NoSchedule"}
JOB = "kubernetes:batch/v1:Job"
CRON_JOB = "kubernetes:batch/v1:CronJob"
STATEFUL_SET = "kubernetes:apps/v1:StatefulSet"
DAEMON_SET = "kubernetes:apps/v1:DaemonSet"
BARE = "kubernetes:core/v1:Pod"


def gpus(count: Any = "1", **requests: Any) -> dict[str, Any]:
    """The resources of a container."""
    return {"limits": {"nvidia.com/gpu": count}, "requests": {"nvidia.com/gpu": count, **requests}}


def container(name: str = "vllm", count: Any = "1", **given: Any) -> dict[str, Any]:
    return {"name": name, "image": "vllm/vllm-openai:v0.26.0", "resources": gpus(count), **given}


def env(**values: Any) -> list[dict[str, Any]]:
    return [{"name": name, "value": value} for name, value in values.items()]


def pod(*containers: Any, pool: str | None = "l40s", **given: Any) -> dict[str, Any]:
    """A pod's spec: with a GPU, on a pool, tolerating its taint."""
    return {
        "containers": list(containers) or [container()],
        "tolerations": [TOLERATION],
        **({"nodeSelector": {POOL: pool}} if pool else {}),
        **given,
    }


def deployment(spec: Any, name: str = "it", namespace: str = "team", **given: Any) -> Resource:
    """A Deployment of a pod; `given`: beside the template."""
    return workload(DEPLOYMENT, spec, name, namespace, **given)


def workload(kind: str, spec: Any, name: str = "it", namespace: str = "team", **given: Any) -> Resource:
    metadata = {"name": name, "namespace": namespace}
    return resource(kind, {"metadata": metadata, "spec": {**given, "template": {"spec": spec}}}, name)


def pool(name: str = "l40s", limit: Any = "4", types: Any = ("g6e.2xlarge",), **given: Any) -> Resource:
    """A NodePool with a label, a taint, types and a limit; `given`: more of its nodes' spec."""
    needs = [{"key": "node.kubernetes.io/instance-type", "operator": "In", "values": list(types)}] if types else []
    template: Mapping[str, Any] = {
        "metadata": {"labels": {POOL: name}},
        "spec": {"taints": [TAINT], "requirements": needs, **given},
    }
    limits = {} if limit is None else {"limits": {"nvidia.com/gpu": limit}}
    return resource(NODE_POOL, {"metadata": {"name": name}, "spec": {"template": template, **limits}}, f"pool-{name}")


def without(tree: Any, *path: str) -> Any:
    """A copy of a tree without what lies at a path."""
    key, *rest = path
    if not rest:
        return {name: it for name, it in tree.items() if name != key}
    return {**tree, key: without(tree[key], *rest)}
