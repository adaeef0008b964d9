"""Free addresses of the private subnets against what nodes and their pods take."""

from collections.abc import Iterator, Mapping
from typing import Any

from infra.gpu_pools import GpuPool
from infra.gpu_pools.checks import INTERFACES, RESERVED_ADDRESSES, addresses_wanted
from infra.karpenter.policies import Scope
from infra.naming import Place, partition_of
from infra.network import subnets
from ops.preflight.asking import Asked, NoAnswer, answer
from ops.preflight.finding import Finding, fail, ok, unknown, warn


def check(asked: Asked) -> Iterator[Finding]:
    """Ask EC2 for the stack's VPC, its subnets and nodes, and yield what they come to.

    The VPC is known by its name tag and its network, its subnets by theirs: the program computes both of the settings.
    """
    settings, ec2 = asked.stack.settings, asked.aws.client("ec2")
    layout = {zone: str(pair.private) for zone, pair in subnets(settings.network.cidr, settings.network.zones).items()}
    size = {
        zone: pair.private.num_addresses - RESERVED_ADDRESSES
        for zone, pair in subnets(settings.network.cidr, settings.network.zones).items()
    }
    networks = answer("ec2:DescribeVpcs", lambda: vpcs(ec2, settings.name, str(settings.network.cidr)))
    if isinstance(networks, NoAnswer):
        yield networks.about("-")
        return
    if len(networks) > 1:
        yield unknown(
            str(settings.network.cidr),
            f"{len(networks)} VPCs are called {settings.name}: {', '.join(networks)}",
            "delete the one that is no stack's",
        )
        return
    free: Mapping[str, int] | NoAnswer = {}
    own: int | NoAnswer = 0
    if networks:
        place = Place(partition_of(asked.stack.region), asked.stack.region, settings.account.id)
        tag = Scope(place=place, cluster=settings.name).cluster_tag
        free = answer("ec2:DescribeSubnets", lambda: available(ec2, networks[0], layout))
        own = answer("ec2:DescribeInstances", lambda: taken_by_nodes(ec2, networks[0], tag))
    for missing in (free, own):
        if isinstance(missing, NoAnswer):
            yield missing.about(networks[0])
            return
    if not isinstance(free, NoAnswer) and not isinstance(own, NoAnswer):
        yield from findings(settings.pools, settings.cluster.system_nodes.count, size, free, own)


def findings(
    pools: Mapping[str, GpuPool], system_nodes: int, size: Mapping[str, int], free: Mapping[str, int], own: int
) -> Iterator[Finding]:
    """Yield the sum over all subnets, and a warning for each without room for one more node.

    Args:
        pools: all pools.
        system_nodes: the number of nodes that Karpenter does not manage.
        size: addresses of each zone's private subnet, as it is or will be made.
        free: addresses that are free now, by zone; none of a zone that has no subnet yet.
        own: addresses that the stack's own nodes have, which are part of what it needs.
    """
    wanted, sums = addresses_wanted(pools, system_nodes)
    rooms = {zone: free.get(zone, whole) for zone, whole in size.items()}
    there = sum(rooms.values()) + own
    made = [zone for zone in size if zone not in free]
    what = f"{sum(rooms.values())} free in {', '.join(f'{zone} {room}' for zone, room in rooms.items())}"
    found = f"need {wanted} addresses ({sums}); {what}" + (f" + {own} of its own nodes" if own else "")
    later = f"; `pulumi up` makes {', '.join(made)}" if made else ""
    figures: dict[str, Any] = {"need": wanted, "free": rooms, "own": own}
    if wanted > there:
        yield fail(
            "private subnets",
            f"{found} = {there} < {wanted}{later}",
            "a smaller maxGpus, more network.zones, or take out what else is in these subnets",
            **figures,
        )
    else:
        yield ok("private subnets", f"{found} = {there} >= {wanted}{later}", **figures)
    each = max((INTERFACES * kind.interface_addresses for pool in pools.values() for kind in pool.types), default=0)
    for zone, room in rooms.items():
        if zone in free and room < each:
            yield warn(
                zone,
                f"{room} free addresses < {each} that one node may take",
                "take out what else is in this subnet: nodes start in other zones until then",
            )


def vpcs(ec2: Any, name: str, cidr: str) -> list[str]:
    """Return the ids of the VPCs that the program may have made for the stack, of all pages."""
    pages = ec2.get_paginator("describe_vpcs").paginate(
        Filters=[{"Name": "tag:Name", "Values": [name]}, {"Name": "cidr", "Values": [cidr]}]
    )
    return [it["VpcId"] for page in pages for it in page["Vpcs"]]


def available(ec2: Any, vpc: str, layout: Mapping[str, str]) -> Mapping[str, int]:
    """Return the free addresses of the private subnets that are there, by zone, of all pages."""
    pages = ec2.get_paginator("describe_subnets").paginate(Filters=[{"Name": "vpc-id", "Values": [vpc]}])
    zones = {cidr: zone for zone, cidr in layout.items()}
    return {
        zones[it["CidrBlock"]]: it["AvailableIpAddressCount"]
        for page in pages
        for it in page["Subnets"]
        if it["CidrBlock"] in zones
    }


def taken_by_nodes(ec2: Any, vpc: str, tag: str) -> int:
    """Return the addresses that the stack's own nodes hold, of all pages."""
    pages = ec2.get_paginator("describe_instances").paginate(
        Filters=[{"Name": "vpc-id", "Values": [vpc]}, {"Name": "tag-key", "Values": [tag]}]
    )
    return sum(
        len(interface.get("PrivateIpAddresses", ()))
        for page in pages
        for group in page["Reservations"]
        for it in group["Instances"]
        for interface in it.get("NetworkInterfaces", ())
    )
