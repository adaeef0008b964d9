"""What must exist before, and so outlive, something else."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from guardrails.accounts import ASSOCIATION, account_of, account_of_association
from guardrails.money import NAT, ROUTE, ROUTE_TABLES
from guardrails.operations.pins import CHARTS, chart_name
from guardrails.pods import WORKLOADS, Pod, pods
from guardrails.pools import NODE_CLASS, NODE_POOL, named, sifted
from guardrails.rule import Around, Resource, Rule, whole
from guardrails.value import Value

ADDON = "aws:eks/addon:Addon"
NODES = ("aws:eks/nodeGroup:NodeGroup", "aws:autoscaling/group:Group", "aws:eks/fargateProfile:FargateProfile")


def needed(resource: Resource) -> set[Resource]:
    """Return all that must exist before a resource, of its parents too."""
    found: set[Resource] = set()
    waiting = [resource]
    while waiting:
        for other in (*(it := waiting.pop()).needs, *([it.parent] if it.parent else [])):
            if other not in found:
                found.add(other)
                waiting.append(other)
    return found


def _controller(_: Value, around: Around) -> Iterator[str]:
    controllers, fault = sifted(around.of(*CHARTS), lambda it: chart_name(named(it)) == "karpenter")
    before = needed(around.resource)
    if before.isdisjoint(controllers):
        if controllers:
            yield (
                f"it does not depend on chart {controllers[0].name}, so a destroy may stop Karpenter first; add"
                " depends_on"
            )
        elif fault and before.isdisjoint(around.of(*CHARTS)):
            raise fault


def _way_out(_: Value, around: Around) -> Iterator[str]:
    gateways = set(around.of(NAT))
    ways = [
        it
        for it in around.of(ROUTE, *ROUTE_TABLES)
        for key in ("natGatewayId", "routes")
        if not gateways.isdisjoint(it.sources.get(key, ()))
    ]
    before = needed(around.resource)
    if after := [it.name for it in ways if it not in before]:
        yield (
            f"it does not depend on route {', '.join(after)}, so a destroy may cut Karpenter off from EC2 first; let"
            " the cluster depend on the network, and this on the cluster"
        )


def _association(pod: Pod, around: Around) -> Iterator[str]:
    before = needed(around.resource)
    waiting = [it for it in around.of(ASSOCIATION) if it not in before]
    if not waiting:
        return
    account = account_of(pod)
    late, fault = sifted(waiting, lambda it: account_of_association(replace(it, props=named(it))) == account)
    for it in late:
        yield (
            f"it does not depend on association {it.name} of its account {'/'.join(account)}, so its pod may have no"
            " credentials; add depends_on"
        )
    if fault:
        raise fault


def _addon(props: Value, around: Around) -> Iterator[str]:
    name = props["addonName"].text()
    nodes = around.of(*NODES)
    if name in around.config["addons"] and nodes and needed(around.resource).isdisjoint(nodes):
        yield f"{name} does not depend on nodes such as {nodes[0].name}, so it waits for them in vain; add depends_on"


RULES = (
    Rule(
        id="destroy-order",
        says="Karpenter outlives what it has started.",
        why="Without it nothing takes nodes away, and they run on after a destroy.",
        source="karpenter-provider-aws#1134, #4223; aws.md 0.28",
        kinds=frozenset({NODE_POOL, NODE_CLASS}),
        parts=whole,
        check=_controller,
        over="stack",
    ),
    Rule(
        id="network-order",
        says="Karpenter's way to EC2 outlives what it has started.",
        why="A destroy that takes NAT first hangs on its NodePools, and their GPUs run on.",
        source="aws.md 8.4",
        kinds=frozenset({NODE_POOL, NODE_CLASS}),
        parts=whole,
        check=_way_out,
        over="stack",
        level="advisory",
    ),
    Rule(
        id="association-order",
        says="A pod's identity is there before the pod.",
        why="Credentials are put into a pod when it is made, so one that comes first never has any.",
        source="containers-roadmap#2507; aws.md 0.25",
        kinds=WORKLOADS,
        parts=pods,
        check=_association,
        over="stack",
    ),
    Rule(
        id="coredns-order",
        says="CoreDNS, and every add-on that is a Deployment, comes after the nodes that run it.",
        why="The add-on is degraded for twenty minutes, and the update fails.",
        source="pulumi-eks#1525, #1819; aws.md 0.24",
        kinds=frozenset({ADDON}),
        parts=whole,
        check=_addon,
        over="stack",
        config={"addons": ["coredns", "metrics-server", "aws-ebs-csi-driver", "aws-efs-csi-driver"]},
    ),
)
