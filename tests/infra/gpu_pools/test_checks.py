"""What does not fit between a pool, its servers and its network, with the sum."""

from ipaddress import IPv4Network

import pytest

from infra.gpu_pools.checks import address_problems, consolidation_problems, demand_problems
from infra.gpu_pools.pool import GpuPool
from infra.network import subnets
from tests.infra.gpu_pools.pools import CAPACITIES, pool

DEMANDS = [
    (pool(maxGpus=2, instanceTypes=["g6.xlarge"]), {"a": 1, "b": 1}, 0, []),
    (pool(maxGpus=8, warmNodes=1), {"a": 1}, 1, []),
    (pool(maxGpus=8), {"a": 8, "b": 1}, 0, ["maxGpus: a 8 + b 1 = 9 GPUs > 8"]),
    (
        pool(instanceTypes=["g6.xlarge"], maxGpus=2, warmNodes=2),
        {"a": 1},
        1,
        ["maxGpus: a 1 + warmNodes 2 x 1 = 3 GPUs > 2"],
    ),
    (
        pool(maxGpus=8, warmNodes=1),
        {},
        0,
        ["warmNodes: 1; no server runs on chat, so nothing says how large a place to keep"],
    ),
    (
        pool(instanceTypes=["g6.xlarge"], capacity=CAPACITIES["static"]),
        {"a": 1, "b": 1},
        0,
        ["capacity.static.nodes: a 1 + b 1 = 2 GPUs > 1 on 1 nodes"],
    ),
]


@pytest.mark.parametrize(("one", "servers", "warm", "lines"), DEMANDS)
def test_KRP_08_a_pool_holds_its_servers_and_its_warm_nodes(
    one: GpuPool, servers: dict[str, int], warm: int, lines: list[str]
) -> None:
    assert [f"{'.'.join(path)}: {problem}" for path, problem in demand_problems("chat", one, servers, warm)] == lines


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
        " a 8 x g7e.2xlarge x 128 + 2 system nodes x 30 + EKS 16"
    )
    assert list(address_problems(pools, 2, private("10.0.0.0/18", 2), "10.0.0.0/18")) == []


@pytest.mark.parametrize(
    ("after", "seconds", "lines"),
    [
        ("10m", 226.0, []),
        ("never", 9999.0, []),
        ("5m", 428.0, ['gpuPools.chat.consolidateAfter: "5m" is less than the 428 s that a needs on a new node']),
    ],
)
def test_KRP_01_an_empty_node_stays_as_long_as_a_return_costs(after: str, seconds: float, lines: list[str]) -> None:
    found = consolidation_problems("chat", pool(consolidateAfter=after), {"a": seconds})
    assert [str(each) for each in found] == lines
