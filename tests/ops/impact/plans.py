"""Small plans, as `python -m rehearsal --json` writes them: one server, one pool, and what a test changes of them."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

from infra.gpu_pools import GPU_RESOURCE, POOL_LABEL
from infra.naming import TECHNIQUES_ANNOTATION
from ops.impact import plan
from ops.impact.compare import Impact, compare
from ops.impact.drift import CLASS_TYPE, CLUSTER_TYPE, POOL_TYPE
from ops.impact.plan import DEPLOYMENT
from ops.impact.revision.side import Key, Side

Body = dict[str, Any]
UNKNOWN = "04da6b54-80e4-46f7-96ec-b56ff0331ba9"
PREFIX = "vllm-cache/engine/gpu/model/"
FACTS = {"engine.image": "vllm:v1", "engine.version": "1", "flag.max-num-seqs": 256, "gpu.product": "l40s"}


def resource(token: str, name: str, inputs: Body, *, action: str = "same", **more: Any) -> Body:
    parent = more.pop("parent", "urn:pulumi:dev::vllm-eks::vllm-eks:infra:Thing::thing")
    return {
        "urn": f"urn:pulumi:dev::vllm-eks::{token}::{name}",
        "type": token,
        "name": name,
        "parent": parent,
        "action": action,
        "changed": {},
        "custom": True,
        "provider": None,
        "protect": False,
        "retainOnDelete": False,
        "inputs": inputs,
        "dependencies": [],
        "propertyDependencies": {},
        **more,
    }


def server(name: str = "chat", pool: str = "l40s", **more: Any) -> Body:
    template = {
        "metadata": {"labels": {"app": name}},
        "spec": {
            "containers": [
                {
                    "name": "vllm",
                    "image": "vllm:v1",
                    "args": ["s3://model/", "--max-num-seqs=256", "--host=127.0.0.1"],
                    "env": [{"name": "A", "value": "1"}, {"name": "B", "value": "2"}],
                    "resources": {"limits": {GPU_RESOURCE: "1"}},
                }
            ],
            "initContainers": [{"name": "cache", "image": "vllm:v1"}],
            "nodeSelector": {POOL_LABEL: pool},
        },
    }
    annotations = {TECHNIQUES_ANNOTATION: "streaming-loader,node-cache,cache-restore"}
    spec = {"replicas": 1, "strategy": {"type": "Recreate"}, "template": template}
    return resource(DEPLOYMENT, name, {"metadata": {"name": name, "annotations": annotations}, "spec": spec}, **more)


def node_pool(name: str = "l40s", **more: Any) -> Body:
    spec = {
        "limits": {GPU_RESOURCE: "4"},
        "disruption": {"consolidateAfter": "10m", "budgets": [{"nodes": "1"}]},
        "template": {
            "metadata": {"labels": {POOL_LABEL: name}},
            "spec": {
                "nodeClassRef": {"name": name},
                "expireAfter": "Never",
                "taints": [{"key": "a", "effect": "NoSchedule"}, {"key": "b", "effect": "NoSchedule"}],
                "requirements": [
                    {"key": "kubernetes.io/arch", "operator": "In", "values": ["amd64"]},
                    {"key": "x/nvme", "operator": "Gt", "values": ["200"]},
                    {
                        "key": "node.kubernetes.io/instance-type",
                        "operator": "In",
                        "values": ["g6e.2xlarge", "g6e.4xlarge"],
                    },
                ],
            },
        },
    }
    return resource(POOL_TYPE, f"gpu-pools-{name}", {"metadata": {"name": name}, "spec": spec}, **more)


def node_class(name: str = "l40s", **more: Any) -> Body:
    spec = {
        "amiSelectorTerms": [{"alias": "al2023@v1"}],
        "subnetSelectorTerms": [{"id": "subnet-1"}, {"id": "subnet-2"}],
        "securityGroupSelectorTerms": [{"id": "sg-1"}],
        "capacityReservationSelectorTerms": [{"id": "cr-1"}],
        "blockDeviceMappings": [{"deviceName": "/dev/xvda", "ebs": {"volumeSize": "50Gi"}}],
        "kubelet": {"imageGCHighThresholdPercent": 85},
        "tags": {"a": "b"},
        "userData": "#!/bin/sh",
    }
    return resource(CLASS_TYPE, f"gpu-pools-{name}", {"metadata": {"name": name}, "spec": spec}, **more)


def predicted(**seconds: float) -> Body:
    """Of one type: `freshNode=176`; half of it are weights, half the node."""
    return {
        "g6e.2xlarge": {
            start: {
                "seconds": total,
                "measured": 0,
                "published": 0,
                "estimated": total,
                "phases": {
                    "weights": {"seconds": total / 2, "evidence": "estimated"},
                    "apiStart": {"seconds": total / 2, "evidence": "estimated"},
                },
            }
            for start, total in seconds.items()
        }
    }


def stack() -> Body:
    """The whole plan document."""
    return {
        "project": "vllm-eks",
        "stack": "dev",
        "unknown": UNKNOWN,
        "resources": [
            resource("vllm-eks:infra:Thing", "thing", {}, custom=False, parent=None),
            resource(CLUSTER_TYPE, "cluster", {"version": "1.36"}),
            node_pool(),
            node_class(),
            server(),
        ],
        "outputs": {
            "region": "us-east-1",
            "gpuPools": {"l40s": {"capacity": "spot-first", "maxGpus": 4, "standingUsdPerHour": "0"}},
            "servers": {
                "chat": {
                    "cachePrefix": f"{PREFIX}old/",
                    "predicted": predicted(freshNode=176.0, warmNode=130.0, restart=77.0),
                }
            },
        },
        "messages": [],
        "seconds": 1.0,
    }


def settings() -> Body:
    return {
        "gpuPools": {"l40s": {"updateWindow": {"schedule": "0 9 * * sun", "duration": "6h"}}},
        "servers": {
            "chat": {
                "pool": "l40s",
                "model": {"uri": "s3://models/chat/"},
                "engine": {"version": "1", "maxNumSeqs": 256, "args": {}},
            }
        },
    }


def spec(document: Body, token: str, place: int = 0) -> Body:
    """The spec of the first (or another) object of a type, to be changed in place."""
    found = [it for it in document["resources"] if it["type"] == token]
    return found[place]["inputs"]["spec"]


def pod(document: Body) -> Body:
    return spec(document, DEPLOYMENT)["template"]["spec"]


def side(document: Body, tree: Body | None = None, title: str = "side", **more: Any) -> Side:
    return Side(title=title, plan=plan.read(document, title), settings=settings() if tree is None else tree, **more)


def key(name: str = "old", *, folder: str = PREFIX, **facts: Any) -> Key:
    return Key(exact=f"{folder}{name}/", base=f"{folder}base/", facts={**FACTS, **facts})


def changed(
    change: Callable[[Body], object],
    *,
    tree: Callable[[Body], object] = lambda _: None,
    before: Callable[[Body], object] = lambda _: None,
    **more: Any,
) -> Impact:
    """The impact of changing the document (and the stack file's tree) in place. `before` changes what stood."""
    old, new_tree = stack(), settings()
    before(old)
    new = copy.deepcopy(old)
    change(new)
    tree(new_tree)
    keys = more.pop("keys", None)
    was = {"keys": {"chat": keys[0]}} if keys else {}
    now = {"keys": {"chat": keys[1]}} if keys else {}
    was |= {"candidates": more.pop("candidates", {})}
    return compare("dev", side(old, title="main", **was), side(new, new_tree, "tree", **now), more.pop("misses", {}))
