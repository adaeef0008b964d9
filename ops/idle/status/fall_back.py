"""Nodes that were bought on-demand where Spot was wanted: what that costs, and the way back.

Karpenter tries Spot at each launch, and leaves a node as it was bought: under `WhenEmpty`, which every pool here has,
consolidation replaces none by a cheaper one (aws.md 1.3). So the way back is a start of the server.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from infra.instances import catalogue
from ops import aws
from ops.failures import Failure
from ops.idle.status.nodes import Node
from ops.stack.stack_file import Stack
from serving.budget.predict import in_force, predicted
from serving.budget.timeline import total

ACTION = "ec2:DescribeSpotPriceHistory"
SYSTEM = "Linux/UNIX"

SpotPrice = Callable[[str], float | None]
"""USD an hour now of an instance type, in the cheapest of the stack's zones; None: EC2 has none. Raises Failure."""


@dataclass(frozen=True, kw_only=True)
class FallBack:
    """A node that Spot would be cheaper than."""

    node: Node
    on_demand: float | None
    """USD an hour; None: nobody knows."""
    spot: float | None
    seconds: float
    """That the return takes, predicted: of the slowest server on it."""

    @property
    def more(self) -> float | None:
        """USD an hour that it costs more."""
        return None if self.on_demand is None or self.spot is None else self.on_demand - self.spot

    @property
    def command(self) -> str:
        """What takes the node away; Karpenter then makes another for its pods, of Spot where there is some."""
        return (
            f"kubectl delete nodeclaim {self.node.claim}"
            if self.node.claim
            else f"kubectl delete node {self.node.name}"
        )

    @property
    def pays_after(self) -> float | None:
        """Seconds on Spot until the start is paid by what is saved; None: unknown, or it saves nothing."""
        if self.on_demand is None or self.spot is None or self.on_demand <= self.spot:
            return None
        return self.seconds * self.spot / (self.on_demand - self.spot)


def fall_backs(nodes: Sequence[Node], stack: Stack, spot: SpotPrice) -> tuple[list[FallBack], list[str]]:
    """Return the nodes of Spot-first pools that are on-demand, and why a price is not known.

    Args:
        nodes: GPU nodes.
        stack: the stack file.
        spot: says what Spot costs now.
    """
    found, unclear = [], []
    for node in nodes:
        pool = stack.settings.pools.get(node.pool)
        if pool is None or node.market != "on-demand" or "spot" not in pool.capacity.markets:
            continue
        price = pool.price(node.instance_type, stack.region)
        try:
            now = spot(node.instance_type)
        except Failure as failure:
            now = None
            unclear.append(f"node {node.name}: {failure} (needs {ACTION})")
        found.append(
            FallBack(node=node, on_demand=price.usd if price else None, spot=now, seconds=_seconds(node, stack))
        )
    return found, unclear


def _seconds(node: Node, stack: Stack) -> float:
    kind = catalogue().get(node.instance_type)
    if kind is None:
        return 0.0
    longest = 0.0
    for name in node.servers:
        if server := stack.settings.servers.get(name):
            about = stack.situation(server)
            longest = max(longest, total(predicted(about, in_force(about, server.chosen), "fresh node", kind)))
    return longest


def spot_now(stack: Stack) -> SpotPrice:
    """Return what asks EC2, once for each type."""
    known: dict[str, float | None] = {}

    def ask(kind: str) -> float | None:
        if kind not in known:
            ec2 = aws.client("ec2", stack.region)
            with aws.answering(f"Spot price of {kind} in {stack.region}"):
                pages = ec2.get_paginator("describe_spot_price_history").paginate(
                    InstanceTypes=[kind],
                    ProductDescriptions=[SYSTEM],
                    # from now on: of each zone the price that holds
                    StartTime=datetime.now(UTC),
                    Filters=[{"Name": "availability-zone", "Values": list(stack.settings.network.zones)}],
                )
                prices = [float(it["SpotPrice"]) for page in pages for it in page["SpotPriceHistory"]]
            known[kind] = min(prices, default=None)
        return known[kind]

    return ask
