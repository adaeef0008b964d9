"""What is in the picture of one server: boxes of what the plan holds, and the paths of a cold start through them."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from infra.gpu_pools.agreed import CAPACITY_LABEL, GPU_RESOURCE, TYPE_LABEL
from infra.image_cache.reference import image_reference
from ops.diagram.stack import (
    Server,
    cache_rules,
    endpoints,
    found,
    inside,
    karpenter,
    mappings,
    requirement,
    services,
    text,
)
from rehearsal.plan.plan import Plan, PlannedResource

LAYERS = "ecr.dkr"
"""The endpoint through which images are asked for: without it they come through NAT."""


@dataclass(frozen=True)
class Box:
    """Something that is there."""

    title: str
    lines: tuple[str, ...]
    urns: tuple[str, ...]
    """The resources of the plan that it stands for, or that it follows from."""


@dataclass(frozen=True)
class Path:
    """What moves in a cold start, from box to box."""

    number: int
    """The same in every picture: a path that a stack lacks leaves its number out."""
    title: str
    boxes: tuple[str, ...]
    """Keys of boxes, in order."""
    says: str


@dataclass(frozen=True)
class Drawing:
    """The picture of one server. Keys of boxes are places of the layout."""

    server: str
    boxes: Mapping[str, Box]
    paths: tuple[Path, ...]
    lanes: Mapping[str, tuple[str, ...]]
    """Labels of the lanes, a line each, by lane."""
    missing: tuple[str, ...]
    """What a reader may look for and not find, a sentence each."""


def drawing(plan: Plan, server: Server) -> Drawing:
    """Return what the picture of a server shows."""
    boxes = dict(_boxes(plan, server))
    return Drawing(
        server=server.name,
        boxes=boxes,
        paths=tuple(it for it in _paths(plan, boxes, server) if it.boxes),
        lanes=_lanes(plan, server),
        missing=tuple(_missing(boxes, server)),
    )


def _box(title: str, *lines: str, of: PlannedResource | tuple[PlannedResource, ...]) -> Box:
    each = of if isinstance(of, tuple) else (of,)
    return Box(title, tuple(filter(None, lines)), tuple(it.urn for it in each))


def _boxes(plan: Plan, server: Server) -> Iterator[tuple[str, Box]]:
    yield from _outside(plan, server)
    yield from _network(plan)
    yield from _cluster(plan, server)
    yield from _node(server)


def _cached(plan: Plan, server: Server) -> PlannedResource | None:
    """The rule through which the engine's image comes."""
    image = text(server.engine.get("image"))
    prefixes = [(f"/{text(it.inputs.get('ecrRepositoryPrefix'))}/", it) for it in cache_rules(plan)]
    return next((it for prefix, it in prefixes if prefix in image), None)


def _outside(plan: Plan, server: Server) -> Iterator[tuple[str, Box]]:
    rule = _cached(plan, server)
    image = text(server.engine.get("image"))
    if rule is not None:
        yield "registry", _box("Registry", text(rule.inputs.get("upstreamRegistryUrl")), of=rule)
    elif image:
        yield "registry", _box("Registry", image_reference(image).registry, of=server.deployment)
    if rules := cache_rules(plan):
        cached = ", ".join(text(it.inputs.get("upstreamRegistryUrl")) for it in rules)
        prefix = f"{text(rule.inputs.get('ecrRepositoryPrefix'))}/" if rule else cached
        yield "ecr", _box("ECR", "pull-through cache", prefix, of=rules)
    if server.pool is not None:
        yield "ec2", _box("EC2", _market(server.pool), _kinds(server.pool), of=server.pool)
    if buckets := found(plan, "aws:s3/bucket:Bucket"):
        yield (
            "bucket",
            _box("S3 bucket", text(buckets[0].inputs.get("bucket")), "models/ and vllm-cache/", of=buckets[0]),
        )
    elif named := text(plan.outputs.get("modelBucket")):
        yield "bucket", _box("S3 bucket, not of this stack", named, of=server.deployment)


def _kinds(pool: PlannedResource) -> str:
    return requirement(pool, TYPE_LABEL)


def _market(pool: PlannedResource) -> str:
    kinds = requirement(pool, CAPACITY_LABEL).split(", ")
    return "Spot first, else on-demand" if {"spot", "on-demand"} <= set(kinds) else ", ".join(kinds)


def _network(plan: Plan) -> Iterator[tuple[str, Box]]:
    if gates := found(plan, "aws:ec2/natGateway:NatGateway"):
        yield "nat", _box("NAT gateway" + "s" * (len(gates) > 1), f"{len(gates)}, to the internet", of=gates)
    if private := endpoints(plan, "Interface"):
        yield "interfaces", _box("Interface endpoints", ", ".join(sorted(services(private))), of=private)
    if gateways := endpoints(plan, "Gateway"):
        yield "gateway", _box("Gateway endpoint", f"{', '.join(services(gateways))}: no NAT, no charge", of=gateways)


def _cluster(plan: Plan, server: Server) -> Iterator[tuple[str, Box]]:
    if server.service is not None:
        ports = [text(it.get("port")) for it in mappings(inside(server.service.inputs, "spec", "ports"))]
        name = text(inside(server.service.inputs, "metadata", "name"))
        yield "client", _box("Client", "a pod of the cluster", of=server.service)
        yield "service", _box(name, f"Service, port {', '.join(ports)}", of=server.service)
    replicas = text(inside(server.deployment.inputs, "spec", "replicas")) or "1"
    yield "deployment", _box(server.name, f"Deployment, {replicas} pod{'s' * (replicas != '1')}", of=server.deployment)
    if (release := karpenter(plan)) is not None:
        groups = found(plan, "aws:eks/nodeGroup:NodeGroup")
        on = [
            f"on {text(inside(it.inputs, 'scalingConfig', 'desiredSize'))} {text(it.inputs.get('instanceTypes'))}"
            for it in groups
        ]
        queues = found(plan, "aws:sqs/queue:Queue")
        told = "told of lost Spot nodes" if queues else ""
        yield (
            "karpenter",
            _box(f"Karpenter {text(release.inputs.get('version'))}", *on, told, of=(release, *groups, *queues)),
        )


def _node(server: Server) -> Iterator[tuple[str, Box]]:
    if server.pool is not None:
        limit = text(inside(server.pool.inputs, "spec", "limits", GPU_RESOURCE))
        yield (
            "node",
            _box("Node", _kinds(server.pool), f"at most {limit} GPUs in the pool" if limit else "", of=server.pool),
        )
    if image := text(server.engine.get("image")):
        of = image_reference(image)
        yield (
            "image",
            _box("Engine's image", of.path.rpartition("/")[2], of.tag or of.digest or "", of=server.deployment),
        )
    if server.restores:
        yield "restore", _box("Restore", "first container, without a GPU", of=server.deployment)
    if server.keeps:
        yield "cache", _box("Start-up cache", f"on disk: {server.keeps}", of=server.deployment)
    if server.copies:
        yield "loader", _box("Weights on disk", "copied by a first container", of=server.deployment)
    elif server.mounts:
        yield (
            "loader",
            _box("Mountpoint", "auxiliary files" if server.streams else "weights as files", of=server.deployment),
        )
    if server.proxy:
        yield (
            "proxy",
            _box(
                "Front proxy",
                "tokens, paths, limits",
                "asks the agent: awake?" if server.sleeps else "",
                of=server.deployment,
            ),
        )
    gpus = text(inside(server.engine, "resources", "limits", GPU_RESOURCE))
    techniques = ", ".join(server.techniques) or "no technique"
    yield (
        "engine",
        _box(
            "vLLM engine" + (f" on {gpus} GPU{'s' * (gpus != '1')}" if gpus else ""), techniques, of=server.deployment
        ),
    )


def _paths(plan: Plan, boxes: Mapping[str, Box], server: Server) -> Iterator[Path]:
    """All paths; one that a stack has not has no boxes."""

    def through(*keys: str) -> tuple[str, ...]:
        return tuple(key for key in keys if key in boxes)

    supply = ("deployment", "karpenter", "ec2", "node")
    node = through(*supply) if all(it in boxes for it in supply) else ()
    yield Path(1, "Node", node, "the pod waits, Karpenter asks EC2, and a node of the pool joins")
    cached = _cached(plan, server) is not None
    private = cached and LAYERS in services(endpoints(plan, "Interface"))
    way = ("registry", *(["ecr"] if cached else []), "interfaces" if private else "nat", "image", "engine")
    by = "through ECR's cache" if cached else "straight from the registry"
    image = through(*way) if "registry" in boxes and "image" in boxes else ()
    # ECR answers for a layer with an address in a bucket of its own (AWS, "ECR interface VPC endpoints")
    layers = ", its layers from S3 by the gateway endpoint" if cached and "gateway" in boxes else ""
    yield Path(2, "Image", image, f"the engine's image comes {by} to the node's disk{layers}")
    # what is mounted beside a streamed model carries no weights
    loads = "loader" in boxes and (server.copies or not server.streams)
    weights = through("bucket", "gateway", *(["loader"] if loads else []), "engine") if "bucket" in boxes else ()
    how = "by a copy on the node's disk" if server.copies else "through Mountpoint" if loads else "streamed"
    yield Path(3, "Weights", weights, f"S3 to GPU, {how}" + (", not through NAT" if "gateway" in boxes else ""))
    kept = (
        through("bucket", "gateway", "restore", "cache", "engine") if "restore" in boxes and "bucket" in boxes else ()
    )
    yield Path(
        4,
        "Start-up cache",
        kept,
        "compiled kernels and bytecode of a cache build come to the node's disk, and the engine finds them",
    )
    asked = through("client", "service", "proxy", "engine") if "service" in boxes else ()
    yield Path(
        5,
        "Request",
        asked,
        "the first request, when the pod is ready" + (", through the proxy" if "proxy" in boxes else ""),
    )


def _missing(boxes: Mapping[str, Box], server: Server) -> Iterator[str]:
    if "restore" not in boxes:
        kept = ", and the node keeps what it compiled" if "cache" in boxes else ""
        yield f"4 is not there: no start-up cache is restored{kept}"
    if "node" not in boxes:
        yield "1 is not there: the pool of this server is not in the plan"
    if not server.streams and not server.copies:
        yield "the weights are read through a mount, by one stream"


def _lanes(plan: Plan, server: Server) -> dict[str, tuple[str, ...]]:
    region = text(plan.outputs.get("region"))
    vpcs = found(plan, "aws:ec2/vpc:Vpc")
    zones = sorted({text(it.inputs.get("availabilityZone")) for it in found(plan, "aws:ec2/subnet:Subnet")} - {""})
    clusters = found(plan, "aws:eks/cluster:Cluster")
    version = text(clusters[0].inputs.get("version")) if clusters else ""
    pool = text(inside(server.pool.inputs, "metadata", "name")) if server.pool else ""
    return {
        "outside": ("Outside AWS",),
        "aws": ("AWS", region),
        "vpc": ("VPC", *(text(it.inputs.get("cidrBlock")) for it in vpcs), *zones),
        "cluster": ("EKS cluster", text(plan.outputs.get("clusterName")), f"Kubernetes {version}" if version else ""),
        "node": ("GPU node", f"pool {pool}" if pool else ""),
    }
