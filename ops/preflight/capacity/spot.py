"""Spot: whether the account may ask for it, how likely it is given, and what it costs now."""

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from functools import partial
from typing import Any

from infra.gpu_pools import GpuPool
from ops.preflight.asking import Asked, NoAnswer, answer
from ops.preflight.finding import Finding, fail, ok, unknown, warn

ROLE = "AWSServiceRoleForEC2Spot"
"""Nothing makes it for Karpenter, and without it every Spot offering counts as sold out (aws.md 0.18)."""

LOW = 3
"""Of 10, from which a score is a warning."""

FEWEST = 3
"""Types below which every score is low, whatever there is (EC2 user guide, Spot placement score)."""

Prices = Mapping[tuple[str, str], float]
"""USD an hour by type and zone."""


def check(asked: Asked) -> Iterator[Finding]:
    """Ask IAM and EC2, and yield findings for each pool that takes Spot."""
    settings, region = asked.stack.settings, asked.stack.region
    pools = {name: pool for name, pool in settings.pools.items() if "spot" in pool.capacity.markets}
    if not pools:
        yield ok("-", "no pool takes Spot")
        return
    iam, ec2 = asked.aws.client("iam"), asked.aws.client("ec2")
    yield role_finding(answer("iam:GetRole", lambda: role(iam), absent={"NoSuchEntity": False}))
    zones = settings.network.zones
    for name, pool in pools.items():
        yield score_finding(name, pool, answer("ec2:GetSpotPlacementScores", partial(score, ec2, pool, region)))
        yield from price_findings(
            name, pool, region, answer("ec2:DescribeSpotPriceHistory", partial(prices, ec2, pool, zones))
        )


def role(iam: Any) -> bool:
    """Return True: the role is there. Otherwise IAM answers NoSuchEntity."""
    iam.get_role(RoleName=ROLE)
    return True


def role_finding(there: bool | NoAnswer) -> Finding:
    """Return what the service-linked role's presence means."""
    if isinstance(there, NoAnswer):
        return there.about(ROLE)
    if there:
        return ok(ROLE, "the service-linked role is there")
    return fail(
        ROLE,
        "no service-linked role for Spot: nodes would be on-demand alone, without a word",
        "aws iam create-service-linked-role --aws-service-name spot.amazonaws.com",
    )


def nodes(pool: GpuPool) -> int:
    """Return how many nodes the pool may want at once."""
    return pool.capacity.static.nodes if pool.capacity.static else pool.most_nodes


def score(ec2: Any, pool: GpuPool, region: str) -> int | None:
    """Return the region's score for all nodes of a pool, 1 to 10; None: it has none."""
    pages = ec2.get_paginator("get_spot_placement_scores").paginate(
        InstanceTypes=[kind.name for kind in pool.types],
        TargetCapacity=nodes(pool),
        TargetCapacityUnitType="units",
        SingleAvailabilityZone=False,
        RegionNames=[region],
    )
    scores = [it["Score"] for page in pages for it in page.get("SpotPlacementScores", ()) if it["Region"] == region]
    return max(scores, default=None)


def score_finding(name: str, pool: GpuPool, scored: int | NoAnswer | None) -> Finding:
    """Return what a score means. It is a guess of this moment, and promises nothing."""
    if isinstance(scored, NoAnswer):
        return scored.about(f"{name} score")
    types, subject = len(pool.types), f"{name} score"
    asked = f"for {nodes(pool)} node{'s' if nodes(pool) > 1 else ''} of {types} type{'s' if types > 1 else ''}"
    if scored is None:
        return unknown(subject, f"EC2 gives no score {asked}", "run again later")
    found = f"{scored} of 10 {asked}"
    if types < FEWEST:
        return ok(subject, f"{found}; with fewer than {FEWEST} types it is always low", score=scored)
    if scored <= LOW:
        return warn(
            subject, found, f"other gpuPools.{name}.instanceTypes or network.zones, or wait for nodes", score=scored
        )
    return ok(subject, found, score=scored)


def prices(ec2: Any, pool: GpuPool, zones: tuple[str, ...]) -> Prices:
    """Return what the pool's types cost on Spot now, in each zone that has them, of all pages."""
    pages = ec2.get_paginator("describe_spot_price_history").paginate(
        InstanceTypes=[kind.name for kind in pool.types],
        ProductDescriptions=["Linux/UNIX"],
        # from now on: the price that holds, and no history
        StartTime=datetime.now(UTC),
        Filters=[{"Name": "availability-zone", "Values": list(zones)}],
    )
    found: dict[tuple[str, str], tuple[datetime, float]] = {}
    for page in pages:
        for it in page["SpotPriceHistory"]:
            key, at = (it["InstanceType"], it["AvailabilityZone"]), it["Timestamp"]
            if key not in found or at > found[key][0]:
                found[key] = at, float(it["SpotPrice"])
    return {key: usd for key, (_, usd) in found.items()}


def price_findings(name: str, pool: GpuPool, region: str, now: Prices | NoAnswer) -> Iterator[Finding]:
    """Yield a line for each type: what it costs now, and on-demand where anybody says."""
    if isinstance(now, NoAnswer):
        yield now.about(f"{name} price")
        return
    for kind in pool.types:
        subject = f"{name} {kind.name}"
        here = {zone: usd for (its, zone), usd in sorted(now.items()) if its == kind.name}
        usual = pool.price(kind.name, region)
        listed = f"{usual.usd:g} on-demand ({usual.source})" if usual else "on-demand unknown"
        figures: dict[str, Any] = {"usdPerHour": here, "onDemandUsdPerHour": usual.usd if usual else None}
        if not here:
            yield warn(
                subject, f"no Spot price in any zone of the stack; {listed}", "nothing, or another type", **figures
            )
            continue
        found = f"USD an hour now: {', '.join(f'{usd:g} {zone}' for zone, usd in here.items())}; {listed}"
        if usual and min(here.values()) > usual.usd:
            yield warn(
                subject, f"{found}: Spot is dearer, and Karpenter drops it", "nothing: it starts on-demand", **figures
            )
        else:
            yield ok(subject, found, **figures)
