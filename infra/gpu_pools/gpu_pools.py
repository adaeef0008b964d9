"""The pools as Karpenter's objects."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pulumi
from pulumi_kubernetes.apiextensions import CustomResource

from infra.gpu_pools.agreed import LONGEST_GRACE
from infra.gpu_pools.manifests import NODE_CLASS, NODE_POOL, Surroundings, node_class, node_pool, node_pool_name
from infra.gpu_pools.pool import GpuPool
from infra.node_boot import user_data
from infra.node_boot.ami import UNPROVEN

DELETE_LIMIT = "30m"
"""A NodePool goes when its nodes are gone (foreground deletion): their termination grace and EC2's own time."""


@dataclass(frozen=True, kw_only=True)
class GpuPoolsArgs:
    """Plain values decide what exists."""

    pools: Mapping[str, GpuPool]
    surroundings: Surroundings
    images: Mapping[str, Sequence[str]]
    """By pool: what its pods run, as they spell it, in the order to pull."""
    graces: Mapping[str, int]
    """By pool: seconds that its servers' pods have to end, the longest of them. A pool without servers has none."""
    after: Sequence[pulumi.Resource]
    """Karpenter with its definitions and rights, and the device plugin: pools come after them and go before."""


class GpuPools(pulumi.ComponentResource):
    """A NodePool and an EC2NodeClass for each pool."""

    node_pools: Mapping[str, pulumi.Output[str]]
    """Names of the NodePools, by pool."""

    def __init__(self, name: str, args: GpuPoolsArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("vllm-eks:infra:GpuPools", name, None, opts)
        self.node_pools = {key: self._pool(f"{name}-{key}", key, pool, args) for key, pool in args.pools.items()}
        self.register_outputs({"nodePools": self.node_pools})

    def _pool(self, name: str, key: str, pool: GpuPool, args: GpuPoolsArgs) -> pulumi.Output[str]:
        if pool.os_image.release is None:
            pulumi.log.warn(f"gpuPools.{key}.ami {pool.ami}: each release of the image replaces every node", self)
        if reason := UNPROVEN.get(pool.os_image.family):
            pulumi.log.warn(f"gpuPools.{key}.ami {pool.ami}: unproven: {reason}", self)
        opts = pulumi.ResourceOptions(
            parent=self,
            depends_on=list(args.after),
            custom_timeouts=pulumi.CustomTimeouts(delete=DELETE_LIMIT),
        )
        its_class = CustomResource(
            name,
            api_version=NODE_CLASS,
            kind="EC2NodeClass",
            # not ready, it would leave the pool silent: no image for this Kubernetes version, no subnet, no rights
            metadata={"name": key, "annotations": {"pulumi.com/waitFor": "condition=Ready"}},
            spec=node_class(key, pool, args.surroundings, user_data(pool.boot(args.images[key]))),
            opts=opts,
        )
        its_pool = CustomResource(
            # a static pool is another object: see `node_pool_name`
            name.removesuffix(key) + node_pool_name(key, pool),
            api_version=NODE_POOL,
            kind="NodePool",
            metadata={"name": node_pool_name(key, pool)},
            spec=node_pool(key, pool, its_class.metadata["name"], args.graces.get(key, LONGEST_GRACE)),
            opts=opts,
        )
        made: pulumi.Output[str] = its_pool.metadata["name"]
        return made
