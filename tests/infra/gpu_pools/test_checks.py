"""What does not fit between a pool, its servers and its network, with the sum."""

from ipaddress import IPv4Network

import pytest

from infra.gpu_pools.checks import Demand, address_problems, demand_problems
from infra.gpu_pools.pool import GpuPool
from infra.gpu_pools.warm_nodes import PodSize
from infra.network import subnets
from tests.infra.gpu_pools.pools import CAPACITIES, pool


def gpus(count: int, cpu: int = 4, memory_gib: int = 8) -> PodSize:
    return PodSize(cpu=cpu * 1000, memory=memory_gib * 1024, gpus=count)


DEMANDS = [
    (pool(maxGpus=2, instanceTypes=["g6.xlarge"]), {"a": gpus(1), "b": gpus(1)}, []),
    (pool(maxGpus=8, warmNodes=1), {"a": gpus(1)}, []),
    (pool(maxGpus=8), {"a": gpus(8), "b": gpus(1)}, ["maxGpus: a 8 + b 1 = 9 GPUs > 8"]),
    (
        pool(instanceTypes=["g6.xlarge"], maxGpus=2, warmNodes=2),
        {"a": gpus(1)},
        ["maxGpus: a 1 + warmNodes 2 x 1 = 3 GPUs > 2"],
    ),
    (
        pool(instanceTypes=["g6.12xlarge"], maxGpus=4, warmNodes=1),
        {"a": gpus(1)},
        ["maxGpus: a 1 + warmNodes 1 x 4 = 5 GPUs > 4"],
    ),
    (
        pool(maxGpus=8, warmNodes=1),
        {},
        ["warmNodes: 1; no server runs on chat, so nothing says how large a place to keep"],
    ),
    (
        pool(instanceTypes=["g6.xlarge"], capacity=CAPACITIES["static"]),
        {"a": gpus(1), "b": gpus(1)},
        ["capacity.static.nodes: a 1 + b 1 = 2 GPUs > 1 on 1 nodes"],
    ),
    (
        pool(instanceTypes=["g6.12xlarge"], maxGpus=9),
        {"a": gpus(3), "b": gpus(3), "c": gpus(3)},
        ["maxGpus: a 3 + b 3 + c 3 GPUs need 3 nodes of 4 (no pod spans two, CPU and memory count too) = 12 GPUs > 9"],
    ),
    (pool(instanceTypes=["g6.12xlarge"], maxGpus=8), {"a": gpus(3), "b": gpus(3), "c": gpus(1)}, []),
    (
        pool(instanceTypes=["g6.12xlarge"], maxGpus=4),
        {"a": gpus(1, cpu=40), "b": gpus(1, cpu=40)},
        ["maxGpus: a 1 + b 1 GPUs need 2 nodes of 4 (no pod spans two, CPU and memory count too) = 8 GPUs > 4"],
    ),
    (pool(instanceTypes=["g6.12xlarge", "g6.48xlarge"], maxGpus=8), {"a": gpus(3), "b": gpus(3)}, []),
]


@pytest.mark.parametrize(("one", "servers", "lines"), DEMANDS)
def test_KRP_08_a_pool_holds_its_servers_and_its_warm_nodes(
    one: GpuPool, servers: dict[str, PodSize], lines: list[str]
) -> None:
    assert [
        f"{'.'.join(path)}: {problem}"
        for path, problem in demand_problems("chat", one, {key: Demand(size) for key, size in servers.items()})
    ] == lines


def private(cidr: str, zones: int) -> list[int]:
    layout = subnets(IPv4Network(cidr), [f"us-west-2{letter}" for letter in "abcd"[:zones]])
    return [pair.private.num_addresses for pair in layout.values()]


def test_a_network_has_room_for_all_nodes() -> None:
    pools = {"a": pool("rtx-pro-server-6000"), "b": pool("l4")}
    assert list(address_problems(pools, 2, private("10.0.0.0/16", 2), "10.0.0.0/16")) == []


def test_a_network_without_room_says_the_sum() -> None:
    """On a g7e one interface has 64 addresses, and the CNI takes a second one to spare."""
    pools = {"a": pool("rtx-pro-server-6000", maxGpus=8, instanceTypes=["g7e.2xlarge", "g7e.48xlarge"])}
    (line,) = map(str, address_problems(pools, 2, private("10.0.0.0/20", 2), "10.0.0.0/20"))
    assert line == (
        'network.cidr: "10.0.0.0/20" has 502 addresses in 2 private subnets < 1100 that nodes may take:'
        " a 8 x g7e.2xlarge x 128 + 2 system nodes x 30 + EKS 16; expected a smaller maxGpus, or more network.zones"
    )
    assert list(address_problems(pools, 2, private("10.0.0.0/18", 2), "10.0.0.0/18")) == []
