"""What costs GPU hours, or the way of the data, for nothing."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial
from itertools import chain

from guardrails.pods import SERVING, Pod, gpu_pods, quantity
from guardrails.pools import CAPACITY_TYPE, NODE_CLASS, NODE_POOL, Pool, any_holds, gpu_pools, named, sifted
from guardrails.rule import Around, Resource, Rule, whole
from guardrails.value import MalformedError, Value

NAT = "aws:ec2/natGateway:NatGateway"
ROUTE = "aws:ec2/route:Route"
ROUTE_TABLES = ("aws:ec2/routeTable:RouteTable", "aws:ec2/defaultRouteTable:DefaultRouteTable")
ENDPOINT = "aws:ec2/vpcEndpoint:VpcEndpoint"
ENDPOINT_TABLE = "aws:ec2/vpcEndpointRouteTableAssociation:VpcEndpointRouteTableAssociation"
EVERYWHERE = "0.0.0.0/0"
_DURATION = re.compile(r"(?:[0-9]+[smh])+")
_SECONDS = {"s": 1, "m": 60, "h": 3600}
_PULL = re.compile(r"\b(?:ctr|nerdctl|crictl|docker|podman|finch)\b(?:[^\n;|&]|\\\n)*\bpull\b")
_MAY_SLEEP = re.compile(r"(?:^|\s)--enable[-_]sleep[-_]mode(?:[\s=]|$)")


def _limits(pool: Pool, around: Around) -> Iterator[str]:
    if pool.is_static or pool.gpu_limit is not None:
        return
    limits = {key: it for key, it in pool.spec["limits"].fields() if not it.is_missing}
    for key in around.config["counts"]:
        if key in limits:
            quantity(limits[key])
            return
    found = f"spec.limits has {', '.join(limits)} and no accelerators" if limits else "spec.limits is missing"
    yield f"{found}; set nvidia.com/gpu (or what its nodes have) to the number that may run at once"


def _consolidation(pool: Pool, around: Around) -> Iterator[str]:
    given = pool.spec.at("disruption", "consolidationPolicy").text()
    chosen, allowed = given or "WhenEmptyOrUnderutilized", around.config["allowed"]
    if pool.is_static or chosen in allowed or pool.spec.at("disruption", "consolidateAfter").text() == "Never":
        return
    found = chosen if given else f"missing, and Karpenter's default is {chosen}"
    yield f"spec.disruption.consolidationPolicy is {found}; set {' or '.join(allowed)}"


def _empty_nodes(pool: Pool, around: Around) -> Iterator[str]:
    after = pool.spec.at("disruption", "consolidateAfter")
    given, least = after.text() or "0s", around.config["seconds"]
    # with another policy `gpu-consolidation` speaks
    if given == "Never" or pool.is_static or pool.spec.at("disruption", "consolidationPolicy").text() != "WhenEmpty":
        return
    if not _DURATION.fullmatch(given):
        raise MalformedError(f"{after.path}: expected a duration such as 10m, found {given!r}")
    seconds = sum(int(number) * _SECONDS[unit] for number, unit in re.findall(r"([0-9]+)([smh])", given))
    if seconds < least:
        found = given if after.text() else "missing, and Karpenter's default is 0s"
        yield f"{after.path} is {found}; set {least}s or more, what a start on a new node takes"


def _min_values(pool: Pool, _: Around) -> Iterator[str]:
    if not all(pool.admits(CAPACITY_TYPE, market) for market in ("spot", "on-demand")):
        return
    found, fault = sifted(pool.requirements, lambda it: it["minValues"].number() is not None)
    for it in found:
        yield (
            f"{it.path}: minValues {it['minValues'].number():g} of {it['key'].text()} in a pool that takes spot and"
            f" on-demand; take minValues away, or name one {CAPACITY_TYPE}"
        )
    if fault:
        raise fault


def _drift(pool: Pool, around: Around) -> Iterator[str]:
    pulling = [it for it in _classes(pool, around) if _PULL.search(named(it).at("spec", "userData").text())]
    budgets = pool.spec.at("disruption", "budgets")
    if pulling and not any_holds(partial(_holds_drift_back, it) for it in budgets.items()):
        yield (
            f"the nodes of class {pulling[0].name} pull images as they boot, and {budgets.path} never holds Drifted"
            ' back; add {nodes: "0", reasons: [Drifted]}, with schedule and duration of the time outside a window'
        )


def _holds_drift_back(budget: Value) -> bool:
    reasons = [it.text() for it in budget["reasons"].items()]
    return budget["nodes"].text() in {"0", "0%"} and (not reasons or "Drifted" in reasons)


def _classes(pool: Pool, around: Around) -> list[Resource]:
    """Return the node classes of a pool that the stack makes: by name, else by where the name comes from."""
    wanted = pool.node.at("nodeClassRef", "name")
    if wanted.is_missing:
        return []
    classes = around.of(NODE_CLASS)
    same, fault = sifted(classes, lambda it: named(it).at("metadata", "name").text() == wanted.text())
    if same:
        return same
    # not known in a preview: then the engine says what the pool was made of
    same = [it for it in classes if any(it in others for others in pool.of.sources.values())]
    if fault and not same:
        raise fault
    return same


def _gateway(nat: Value, around: Around) -> Iterator[str]:
    ways = list(_sending_to(around.resource, around))
    # a private one leads to other networks, and charges as much where all that leaves goes by it
    if not ways and nat["connectivityType"].text() == "private":
        return
    gateways, fault = sifted(around.of(ENDPOINT), _is_s3_gateway)
    if not gateways and not fault:
        yield "it carries the traffic to S3: this stack has no gateway endpoint for S3; add one, it is free"
        return
    served, ids = _served(gateways, around)
    for title, tables, given in ways:
        if any(not served.isdisjoint(_with_parents(it)) for it in tables) or given in ids:
            continue
        if fault:
            raise fault
        yield f"route table {title} sends to it, and no gateway endpoint for S3 lists that table; add it"
    if fault and not gateways:
        raise fault


def _is_s3_gateway(endpoint: Resource) -> bool:
    its = named(endpoint)
    return (its["vpcEndpointType"].text() or "Gateway") == "Gateway" and its["serviceName"].text().endswith(".s3")


def _served(gateways: list[Resource], around: Around) -> tuple[set[Resource], set[str]]:
    """Return the route tables of some endpoints: what the stack makes, and ids of others."""
    joined = [
        it for it in around.of(ENDPOINT_TABLE) if not set(gateways).isdisjoint(it.sources.get("vpcEndpointId", ()))
    ]
    made = [it.sources.get("routeTableIds", ()) for it in gateways]
    made += [it.sources.get("routeTableId", ()) for it in joined]
    listed = [table for it in gateways for table in named(it)["routeTableIds"].items()]
    listed += [named(it)["routeTableId"] for it in joined]
    known, _ = sifted(listed, lambda it: it.text() != "")
    return set(chain.from_iterable(made)), {it.text() for it in known}


def _sending_to(nat: Resource, around: Around) -> Iterator[tuple[str, list[Resource], str]]:
    """Yield tables whose default route is a NAT gateway: title, where the id is from, the id (empty: not known)."""
    for route in around.of(ROUTE):
        if nat in route.sources.get("natGatewayId", ()) and named(route)["destinationCidrBlock"].text() == EVERYWHERE:
            tables = list(route.sources.get("routeTableId", ()))
            ids, _ = sifted([named(route)["routeTableId"]], lambda it: it.text() != "")
            given = ids[0].text() if ids else ""
            yield (tables[0].name if tables else given or f"of route {route.name}"), tables, given
    for table in around.of(*ROUTE_TABLES):
        if nat in table.sources.get("routes", ()):
            yield table.name, [table], ""


def _with_parents(resource: Resource) -> Iterator[Resource]:
    """Yield a resource and the components around it: an id that a component gives out comes from the component."""
    it: Resource | None = resource
    while it:
        yield it
        it = it.parent


def _sleep(pod: Pod, around: Around) -> Iterator[str]:
    words = (word for it in pod.containers for key in ("command", "args") for word in it.value[key].items())
    if not any_holds(partial(_has_sleep_flag, word) for word in words):
        return
    name, props = around.config["annotation"], around.resource.props
    places = (("metadata", "annotations", name), ("spec", "template", "metadata", "annotations", name))
    found, fault = sifted(places, lambda keys: props.at(*keys).text() != "")
    given = props.at(*found[0]).text() if found else ""
    if fault and not found:
        raise fault
    if not given:
        yield f"--enable-sleep-mode, and no annotation {name}; write from how many idle seconds on sleep pays"
    elif not re.fullmatch(r"[0-9]+(\.[0-9]+)?", given) or not float(given):
        yield f"annotation {name} is {given!r}; write a number of seconds above 0"


def _has_sleep_flag(word: Value) -> bool:
    return bool(_MAY_SLEEP.search(word.text()))


RULES = (
    Rule(
        id="gpu-limit",
        says="A pool of GPUs has a limit of GPUs.",
        why="Pods that fail and come again buy nodes until EC2 has none.",
        source="Karpenter's NodePool definition, spec.limits; that CPU alone does not bound GPUs is a judgement",
        kinds=frozenset({NODE_POOL}),
        parts=gpu_pools,
        check=_limits,
        config={"counts": ["nodes"]},
    ),
    Rule(
        id="gpu-consolidation",
        says="A pool of GPUs gives up empty nodes alone.",
        why="Moving a model that takes minutes to start saves nothing, and cuts its requests off.",
        source="Karpenter's NodePool definition, consolidationPolicy; aws.md 0.14",
        kinds=frozenset({NODE_POOL}),
        parts=gpu_pools,
        check=_consolidation,
        config={"allowed": ["WhenEmpty"]},
    ),
    Rule(
        id="gpu-empty-nodes",
        says="An empty node of a pool of GPUs waits for as long as a start on a new one takes.",
        why="A single server that restarts is a moment without a pod: its node goes, with images and caches.",
        source="Karpenter's NodePool definition, consolidateAfter; aws.md 0.14; the number is a judgement",
        kinds=frozenset({NODE_POOL}),
        parts=gpu_pools,
        check=_empty_nodes,
        level="advisory",
        config={"seconds": 120},
    ),
    Rule(
        id="spot-min-values",
        says="A pool of GPUs that takes Spot first has no minValues.",
        why="They turn off the filter that drops Spot offers dearer than on-demand.",
        source="Karpenter 1.14.1, pkg/providers/instance, SpotOfferingFilter; aws.md 0.11; karpenter#5015",
        kinds=frozenset({NODE_POOL}),
        parts=gpu_pools,
        check=_min_values,
    ),
    Rule(
        id="drift-budget",
        says="Nodes that pull images first are replaced for drift in a window alone.",
        why="A new release of an image or a setting replaces all of them at once, at the hour of most load.",
        source="karpenter-provider-aws#6862; aws.md 0.15",
        kinds=frozenset({NODE_POOL}),
        parts=gpu_pools,
        check=_drift,
        over="stack",
    ),
    Rule(
        id="s3-gateway",
        says="What reaches the internet through NAT reaches S3 through a gateway endpoint.",
        why="NAT charges each gigabyte of weights and image layers.",
        source="pytorch/ci-infra#1032, $149,000 in a month; aws.md 0.31",
        kinds=frozenset({NAT}),
        parts=whole,
        check=_gateway,
        over="stack",
    ),
    Rule(
        id="sleep-break-even",
        says="A server that may sleep says from how long an idle time on that pays.",
        why="A sleeping server keeps its GPU, so for long gaps a start costs less than the sleep.",
        source="gpu.md 9; article 000, 5.4",
        kinds=SERVING,
        parts=gpu_pods,
        check=_sleep,
        level="advisory",
        config={"annotation": "vllm-eks/break-even-seconds"},
    ),
)
