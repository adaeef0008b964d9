"""What a pool must be for what runs on it and what it runs in. Generators of complaints over plain values."""

from collections.abc import Iterator, Mapping, Sequence

from infra.gpu_pools.pool import GpuPool
from infra.gpu_pools.updates import minutes
from infra.section import Complaint

INTERFACES = 2
"""Network interfaces whose addresses the CNI takes on a node with few pods: the first, and one to spare
(amazon-vpc-cni-k8s, WARM_ENI_TARGET=1, its default)."""

RESERVED_ADDRESSES = 5
"""Of each subnet, by AWS."""

SYSTEM_NODE_ADDRESSES = 30
"""Two interfaces of 15 addresses, as m7i.large to m7i.2xlarge have or fewer."""

CONTROL_PLANE_ADDRESSES = 16
"""The EKS user guide asks for room for as many as that in the control plane's subnets."""


def demand_problems(
    name: str, pool: GpuPool, servers: Mapping[str, int], warm_gpus: int
) -> Iterator[tuple[tuple[str, ...], str]]:
    """Yield (path below the pool, problem) where a pool cannot hold what is put on it.

    Args:
        name: the pool's.
        pool: the pool.
        servers: GPUs by server.
        warm_gpus: GPUs of one warm node's pod, 0 where nobody sizes it.
    """
    if pool.warm_nodes and not warm_gpus:
        yield ("warmNodes",), f"{pool.warm_nodes}; no server runs on {name}, so nothing says how large a place to keep"
    parts = [f"{server} {gpus}" for server, gpus in servers.items()]
    total = sum(servers.values())
    if pool.warm_nodes:
        parts.append(f"warmNodes {pool.warm_nodes} x {warm_gpus}")
        total += pool.warm_nodes * warm_gpus
    static = pool.capacity.static
    if total > pool.max_gpus:
        yield ("maxGpus",), f"{' + '.join(parts)} = {total} GPUs > {pool.max_gpus}"
    elif static and total > (there := static.nodes * pool.types[0].gpus):
        yield ("capacity", "static", "nodes"), f"{' + '.join(parts)} = {total} GPUs > {there} on {static.nodes} nodes"


def address_problems(
    pools: Mapping[str, GpuPool], system_nodes: int, subnets: Sequence[int], cidr: str
) -> Iterator[Complaint]:
    """Yield where the private subnets have not as many addresses as all nodes take.

    Args:
        pools: all pools.
        system_nodes: the number of nodes that Karpenter does not manage.
        subnets: addresses of each private subnet.
        cidr: of the VPC.
    """
    taken = system_nodes * SYSTEM_NODE_ADDRESSES + CONTROL_PLANE_ADDRESSES
    parts = []
    for name, pool in pools.items():
        worst = max(pool.types, key=lambda kind: pool.max_gpus // kind.gpus * kind.interface_addresses)
        nodes, each = pool.max_gpus // worst.gpus, INTERFACES * worst.interface_addresses
        taken += nodes * each
        parts.append(f"{name} {nodes} x {worst.name} x {each}")
    free = sum(addresses - RESERVED_ADDRESSES for addresses in subnets)
    if taken > free:
        yield Complaint(
            ("network", "cidr"),
            f'"{cidr}" has {free} addresses in {len(subnets)} private subnets < {taken} that nodes may take: '
            + " + ".join(
                [*parts, f"{system_nodes} system nodes x {SYSTEM_NODE_ADDRESSES}", f"EKS {CONTROL_PLANE_ADDRESSES}"]
            ),
        )


def consolidation_problems(name: str, pool: GpuPool, returns: Mapping[str, float]) -> Iterator[Complaint]:
    """Yield where an empty node goes before it has cost as much as its return (KRP-01).

    Args:
        name: the pool's.
        pool: the pool.
        returns: seconds that a server's start on a new node is predicted to take, by server.
    """
    for server, seconds in returns.items():
        if minutes(pool.consolidate_after) * 60 < seconds:
            yield Complaint(
                ("gpuPools", name, "consolidateAfter"),
                f'"{pool.consolidate_after}" is less than the {seconds:.0f} s that {server} needs on a new node',
            )
