"""What a pool must be for what runs on it and what it runs in. Generators of complaints over plain values."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from operator import le, sub

from infra.gpu_pools.agreed import AGENTS_CPU, AGENTS_MEMORY
from infra.gpu_pools.pool import GpuPool
from infra.gpu_pools.warm_nodes import PodSize
from infra.instances import InstanceType
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


@dataclass(frozen=True)
class Demand:
    """What a server takes from its pool."""

    each: PodSize
    pods: int = 1
    surge: int = 0
    """Pods that come beside them while they are replaced."""

    def __str__(self) -> str:
        """Return its GPUs, with the sum where it is one."""
        if self.surge:
            return f"({self.pods} + {self.surge} surge) x {self.each.gpus}"
        return f"{self.pods} x {self.each.gpus}" if self.pods > 1 else f"{self.each.gpus}"

    @property
    def sizes(self) -> list[PodSize]:
        """Each of its pods, at its most."""
        return [self.each] * (self.pods + self.surge)


def demand_problems(name: str, pool: GpuPool, servers: Mapping[str, Demand]) -> Iterator[tuple[tuple[str, ...], str]]:
    """Yield (path below the pool, problem) where a pool cannot hold what is put on it.

    Args:
        name: the pool's.
        pool: the pool.
        servers: what runs on it.
    """
    if pool.warm_nodes and not servers:
        yield ("warmNodes",), f"{pool.warm_nodes}; no server runs on {name}, so nothing says how large a place to keep"
    parts = [f"{server} {demand}" for server, demand in servers.items()]
    pods = [size for demand in servers.values() for size in demand.sizes]
    total = sum(size.gpus for size in pods)
    if pool.warm_nodes and servers:
        # whole nodes: the limit counts what a node has, not what its pod asks for
        largest = max(size.gpus for size in pods)
        each = min((kind.gpus for kind in pool.types if kind.gpus >= largest), default=largest)
        parts.append(f"warmNodes {pool.warm_nodes} x {each}")
        total += pool.warm_nodes * each
    there = pool.capacity.static.nodes * pool.types[0].gpus if pool.capacity.static else pool.max_gpus
    nodes, each = _nodes(pods, pool.types), pool.types[0].gpus
    if total > pool.max_gpus:
        yield ("maxGpus",), f"{' + '.join(parts)} = {total} GPUs > {pool.max_gpus}"
    elif pool.capacity.static and total > there:
        path = ("capacity", "static", "nodes")
        yield path, f"{' + '.join(parts)} = {total} GPUs > {there} on {pool.capacity.static.nodes} nodes"
    elif nodes * each > there:
        yield (
            ("capacity", "static", "nodes") if pool.capacity.static else ("maxGpus",),
            f"{' + '.join(parts)} GPUs need {nodes} nodes of {each} (no pod spans two, CPU and memory count too)"
            f" = {nodes * each} GPUs > {there}",
        )


def _nodes(pods: Iterable[PodSize], types: Sequence[InstanceType]) -> int:
    """Return how many nodes the pods fill, the largest first; 0 where types differ in GPUs, and Karpenter may mix them.

    The roomiest type counts, so what is refused fits on no other one either.
    """
    if len({kind.gpus for kind in types}) > 1:
        return 0
    kind = max(types, key=lambda each: (each.allocatable_memory, each.allocatable_cpu))
    whole = (kind.gpus, kind.allocatable_cpu - AGENTS_CPU, kind.allocatable_memory - AGENTS_MEMORY)
    nodes: list[tuple[int, ...]] = []
    for pod in sorted(pods, key=lambda each: (each.gpus, each.memory, each.cpu), reverse=True):
        asked = (pod.gpus, pod.cpu, pod.memory)
        place = next((at for at, free in enumerate(nodes) if all(map(le, asked, free))), None)
        if place is None:
            nodes.append(whole)
            place = -1
        nodes[place] = tuple(map(sub, nodes[place], asked))
    return len(nodes)


def addresses_wanted(pools: Mapping[str, GpuPool], system_nodes: int) -> tuple[int, str]:
    """Return how many addresses all nodes and the control plane may take at most, and the sum in words.

    Args:
        pools: all pools, each filled with the type that takes most.
        system_nodes: the number of nodes that Karpenter does not manage.
    """
    taken = system_nodes * SYSTEM_NODE_ADDRESSES + CONTROL_PLANE_ADDRESSES
    parts = []
    for name, pool in pools.items():
        worst = max(pool.types, key=lambda kind: pool.max_gpus // kind.gpus * kind.interface_addresses)
        nodes, each = pool.max_gpus // worst.gpus, INTERFACES * worst.interface_addresses
        taken += nodes * each
        parts.append(f"{name} {nodes} x {worst.name} x {each}")
    parts += [f"{system_nodes} system nodes x {SYSTEM_NODE_ADDRESSES}", f"EKS {CONTROL_PLANE_ADDRESSES}"]
    return taken, " + ".join(parts)


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
    taken, parts = addresses_wanted(pools, system_nodes)
    free = sum(addresses - RESERVED_ADDRESSES for addresses in subnets)
    if taken > free:
        yield Complaint(
            ("network", "cidr"),
            f'"{cidr}" has {free} addresses in {len(subnets)} private subnets < {taken} that nodes may take: {parts}'
            "; expected a smaller maxGpus, or more network.zones",
        )
