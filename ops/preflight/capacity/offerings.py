"""Whether EC2 has the instance types in the zones of the stack. A type that is offered may still be sold out."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from infra.gpu_pools import GpuPool
from ops.preflight.asking import Asked, NoAnswer, answer
from ops.preflight.finding import Finding, fail, ok, warn

Offered = Collection[tuple[str, str]]
"""Pairs of type and zone."""


def check(asked: Asked) -> Iterator[Finding]:
    """Ask EC2, and yield findings for each pool and the system nodes."""
    settings, ec2 = asked.stack.settings, asked.aws.client("ec2")
    system = settings.cluster.system_nodes.instance_types
    names = {*system, *(kind.name for pool in settings.pools.values() for kind in pool.types)}
    zones = settings.network.zones
    found = answer("ec2:DescribeInstanceTypeOfferings", lambda: offered(ec2, sorted(names), zones))
    if isinstance(found, NoAnswer):
        yield found.about("-")
        return
    yield from pool_findings(settings.pools, zones, found)
    yield from system_findings(system, settings.cluster.zones, found)


def offered(ec2: Any, names: Sequence[str], zones: Sequence[str]) -> Offered:
    """Return which of the types EC2 offers in which of the zones, of all pages."""
    pages = ec2.get_paginator("describe_instance_type_offerings").paginate(
        LocationType="availability-zone",
        Filters=[{"Name": "instance-type", "Values": list(names)}, {"Name": "location", "Values": list(zones)}],
    )
    return {(it["InstanceType"], it["Location"]) for page in pages for it in page["InstanceTypeOfferings"]}


def pool_findings(pools: Mapping[str, GpuPool], zones: Sequence[str], there: Offered) -> Iterator[Finding]:
    """Yield a failure for a pool with no type anywhere, and a warning for each type that is missing somewhere.

    Karpenter starts a node where there is one, so a zone without costs only choice.
    """
    for name, pool in pools.items():
        places = {kind.name: [zone for zone in zones if (kind.name, zone) in there] for kind in pool.types}
        if not any(places.values()):
            yield fail(
                name,
                f"none of {', '.join(places)} in {', '.join(zones)}",
                f"other network.zones, or other gpuPools.{name}.instanceTypes",
            )
            continue
        lacking = {kind: [zone for zone in zones if zone not in where] for kind, where in places.items()}
        if not any(lacking.values()):
            yield ok(name, f"{', '.join(places)} in {', '.join(zones)}")
        for kind, missing in lacking.items():
            if missing:
                where = ", ".join(places[kind])
                yield warn(
                    f"{name} {kind}",
                    f"not in {', '.join(missing)}; "
                    + (f"in {where}" if where else "other types of the pool are there"),
                    f"nothing, or other network.zones: gpuPools.{name} has fewer places to start in",
                )


def system_findings(types: Sequence[str], zones: Sequence[str], there: Offered) -> Iterator[Finding]:
    """Yield whether each zone of the system nodes has one of their types: Karpenter's two replicas need two zones."""
    bare = [zone for zone in zones if not any((kind, zone) in there for kind in types)]
    if bare:
        yield fail(
            "system nodes",
            f"none of {', '.join(types)} in {', '.join(bare)}",
            "other cluster.systemNodes.instanceTypes",
        )
    else:
        yield ok("system nodes", f"{', '.join(types)} in {', '.join(zones)}")
