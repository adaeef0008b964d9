"""The NodePool and the EC2NodeClass of a pool, as Karpenter 1.14 and 1.15 read them. Pure functions of plain values."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pulumi

from infra.gpu_pools.agreed import GPU_RESOURCE, TAINT, labels, requirements
from infra.gpu_pools.pool import GpuPool
from infra.gpu_pools.updates import karpenters

NODE_POOL, NODE_CLASS = "karpenter.sh/v1", "karpenter.k8s.aws/v1"

IMAGE_GC = {"imageGCHighThresholdPercent": 85, "imageGCLowThresholdPercent": 80}
"""Of the disk that images lie on. kubelet's own defaults, written out because pre-pulled images live by them."""


@dataclass(frozen=True, kw_only=True)
class Surroundings:
    """What the nodes of every pool have in common."""

    cluster_name: str
    """For Name tags."""
    node_role: pulumi.Input[str]
    """The role's name, not its ARN."""
    subnet_ids: Sequence[pulumi.Input[str]]
    """At most 30."""
    security_group_id: pulumi.Input[str]
    """EKS's own: the one group of a node that may carry the cluster's tag (aws-load-balancer-controller#1897)."""
    tags: Mapping[str, str]
    """Of instances, disks and network interfaces: the provider's default tags end at what Pulumi itself makes."""


def node_class(name: str, pool: GpuPool, surroundings: Surroundings, user_data: pulumi.Input[str]) -> dict[str, Any]:
    """Return the spec of the pool's EC2NodeClass. Everything is selected by id: no discovery tags."""
    spec: dict[str, Any] = {
        "role": surroundings.node_role,
        "amiSelectorTerms": [{"alias": str(pool.os_image)}],
        "subnetSelectorTerms": [{"id": subnet} for subnet in surroundings.subnet_ids],
        "securityGroupSelectorTerms": [{"id": surroundings.security_group_id}],
        # images, kubelet, pod logs and caches on the array; every type of a pool has one (infra.instances.types_with)
        "instanceStorePolicy": "RAID0",
        "blockDeviceMappings": _volumes(pool),
        # one hop: pods without host network cannot take the node's role from IMDS
        "metadataOptions": {
            "httpEndpoint": "enabled",
            "httpProtocolIPv6": "disabled",
            "httpPutResponseHopLimit": 1,
            "httpTokens": "required",
        },
        "kubelet": IMAGE_GC,
        "tags": {**surroundings.tags, "Name": f"{surroundings.cluster_name}-{name}"},
        "userData": user_data,
    }
    if pool.capacity.reserved:
        spec["capacityReservationSelectorTerms"] = [{"id": each} for each in pool.capacity.reserved.ids]
    return spec


def node_pool(name: str, pool: GpuPool, node_class_name: pulumi.Input[str], grace: int) -> dict[str, Any]:
    """Return the spec of the pool's NodePool.

    `grace`: seconds that its servers' pods have to end, the longest of them. A server's pod carries
    `karpenter.sh/do-not-disrupt`, so Karpenter never evicts it (v1.14.1, pkg/utils/pod/scheduling.go, IsEvictable); it
    deletes it when the node's `terminationGracePeriod` less the pod's own grace has passed (terminator.go,
    DeleteExpiringPods). Were the first longer than the second, every end (Spot notice, expiry, drift, destroy) would
    begin with a wait for nothing; longer than a Spot notice, the pod would lose its node with no preStop and no drain.
    """
    static = pool.capacity.static
    return {
        # of a static pool Karpenter takes no other limit; what it leaves above `replicas` is room to replace a node
        **({"replicas": static.nodes} if static else {}),
        "limits": {"nodes": str(pool.most_nodes)} if static else {GPU_RESOURCE: str(pool.max_gpus)},
        "disruption": {
            # moving a server costs a cold start, so only nodes without pods go (KRP-01)
            "consolidationPolicy": "WhenEmpty",
            "consolidateAfter": karpenters(pool.consolidate_after),
            "budgets": pool.update_window.budgets,
        },
        "template": {
            "metadata": {"labels": labels(name, pool)},
            "spec": {
                "nodeClassRef": {
                    "group": NODE_CLASS.partition("/")[0],
                    "kind": "EC2NodeClass",
                    "name": node_class_name,
                },
                "taints": [dict(TAINT)],
                "requirements": requirements(pool),
                "expireAfter": karpenters(pool.expire_after),
                "terminationGracePeriod": f"{grace}s",
            },
        },
    }


def node_pool_name(name: str, pool: GpuPool) -> str:
    """Return the NodePool's name. Karpenter never turns a dynamic one into a static one, so it becomes another.

    The dot keeps it apart from every other pool's: names in the stack file have none.
    """
    return f"{name}.static" if pool.capacity.static else name


def needs_static_capacity(pools: Iterable[GpuPool]) -> bool:
    """Whether Karpenter's feature gate StaticCapacity must be on."""
    return any(pool.capacity.static for pool in pools)


def _volumes(pool: GpuPool) -> list[dict[str, Any]]:
    """Return the EBS volumes. Bottlerocket boots from a small one and keeps its data on another (bottlerocket#4663)."""
    if pool.os_image.family == "bottlerocket":
        return [_volume("/dev/xvda", 4), _volume("/dev/xvdb", pool.root_volume_gib, root=True)]
    return [_volume("/dev/xvda", pool.root_volume_gib, root=True)]


def _volume(device: str, gib: int, *, root: bool = False) -> dict[str, Any]:
    return {
        "deviceName": device,
        # what kubelet's root lies on, as Karpenter counts it
        **({"rootVolume": True} if root else {}),
        "ebs": {
            "volumeType": "gp3",
            "volumeSize": f"{gib}Gi",
            # gp3's own baseline: the array carries the load
            "iops": 3000,
            "throughput": 125,
            "encrypted": True,
            "deleteOnTermination": True,
        },
    }
