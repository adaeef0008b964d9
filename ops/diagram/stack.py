"""What a picture needs of a plan: its resources by what they do, and one server's pod."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from infra.gpu_pools import POOL_LABEL
from infra.naming import KARPENTER_NAMESPACE, TECHNIQUES_ANNOTATION
from rehearsal.plan.plan import UNKNOWN, Plan, PlannedResource
from serving.front.containers import AGENT, PROXY
from serving.pod import CACHE, CONTAINER, MODELS
from serving.techniques.cache_restore import CACHE_RESTORE
from serving.techniques.local_weights import WEIGHTS
from serving.techniques.node_cache import PREPARER

SERVER = "vllm-eks:serving:VllmServer"
DEPLOYMENT = "kubernetes:apps/v1:Deployment"
KARPENTER = "karpenter"
"""Of its Helm release."""


def text(value: Any) -> str:
    """Return a value as text, lists with commas; empty: there is none, or only `up` knows it."""
    if isinstance(value, list):
        return ", ".join(filter(None, map(text, value)))
    shown = "" if value is None or isinstance(value, Mapping) else str(value)
    return "" if UNKNOWN in shown else shown


def inside(value: Any, *keys: str) -> Any:
    """Return what lies below keys; None where something on the way is not there, or not known."""
    for key in keys:
        value = value.get(key) if isinstance(value, Mapping) else None
    return value


def mappings(value: Any) -> list[Mapping[str, Any]]:
    """Return the mappings of a list; none where it is no list."""
    return [it for it in value if isinstance(it, Mapping)] if isinstance(value, list) else []


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def found(plan: Plan, token: str) -> tuple[PlannedResource, ...]:
    """Return the resources of a type by name: the engine meets them in another order each time."""
    return tuple(sorted(plan.of(token), key=lambda it: it.urn))


@dataclass(frozen=True)
class Server:
    """A server of the plan."""

    deployment: PlannedResource
    service: PlannedResource | None
    pool: PlannedResource | None
    """Its NodePool; None: it is not in the plan."""

    @property
    def name(self) -> str:
        """Of its Deployment, which is the server's."""
        return text(inside(self.deployment.inputs, "metadata", "name")) or self.deployment.name

    @property
    def techniques(self) -> tuple[str, ...]:
        """All that act on it."""
        noted = text(inside(self.deployment.inputs, "metadata", "annotations", TECHNIQUES_ANNOTATION))
        return tuple(filter(None, noted.split(",")))

    @property
    def pod(self) -> Mapping[str, Any]:
        """The pod's spec."""
        return _mapping(inside(self.deployment.inputs, "spec", "template", "spec"))

    def container(self, name: str) -> Mapping[str, Any] | None:
        """Return a container of the pod, whichever it is; None: it has none of this name."""
        every = [*mappings(self.pod.get("initContainers")), *mappings(self.pod.get("containers"))]
        return next((it for it in every if it.get("name") == name), None)

    @property
    def engine(self) -> Mapping[str, Any]:
        """The engine's container."""
        return self.container(CONTAINER) or {}

    @property
    def proxy(self) -> bool:
        """Whether a proxy stands before the engine."""
        return self.container(PROXY) is not None

    @property
    def sleeps(self) -> bool:
        """Whether an agent puts it to sleep."""
        return self.container(AGENT) is not None

    @property
    def restores(self) -> bool:
        """Whether a first container fetches a start-up cache: one of that name may only hand over a folder."""
        asked = text(inside(self.container(PREPARER), "args"))
        return CACHE_RESTORE.name in self.techniques and "--fingerprint=" in asked

    @property
    def keeps(self) -> str:
        """The folder of its node in which caches outlive its pods; empty: they go with the pod."""
        return text(inside(self._volume(CACHE), "hostPath", "path"))

    @property
    def copies(self) -> bool:
        """Whether a first container copies the weights to the node's disk."""
        return self.container(WEIGHTS) is not None

    @property
    def mounts(self) -> bool:
        """Whether the model's folder is mounted."""
        return self._volume(MODELS) is not None

    @property
    def streams(self) -> bool:
        """Whether the engine itself reads the weights from the bucket."""
        return text(inside(self.engine, "args")).startswith("s3://")

    def _volume(self, name: str) -> Mapping[str, Any] | None:
        return next((it for it in mappings(self.pod.get("volumes")) if it.get("name") == name), None)


def servers(plan: Plan) -> tuple[Server, ...]:
    """Return the servers of a plan, by name."""
    owners = {it.urn for it in found(plan, SERVER)}
    return tuple(_server(plan, it) for it in found(plan, DEPLOYMENT) if it.parent in owners)


def _server(plan: Plan, deployment: PlannedResource) -> Server:
    asked = inside(deployment.inputs, "spec", "template", "spec", "nodeSelector", POOL_LABEL)
    labels = _mapping(inside(deployment.inputs, "spec", "template", "metadata", "labels"))
    pools = [it for it in node_pools(plan) if _puts(it) == asked]
    return Server(
        deployment,
        next((it for it in found(plan, "kubernetes:core/v1:Service") if _selects(it, labels)), None),
        pools[0] if asked and pools else None,
    )


def _puts(pool: PlannedResource) -> Any:
    """The label by which servers ask for the pool's nodes."""
    return inside(pool.inputs, "spec", "template", "metadata", "labels", POOL_LABEL)


def _selects(service: PlannedResource, labels: Mapping[str, str]) -> bool:
    wanted = _mapping(inside(service.inputs, "spec", "selector"))
    return bool(wanted) and all(labels.get(key) == value for key, value in wanted.items())


def node_pools(plan: Plan) -> tuple[PlannedResource, ...]:
    """Return Karpenter's pools."""
    return found(plan, "kubernetes:karpenter.sh/v1:NodePool")


def karpenter(plan: Plan) -> PlannedResource | None:
    """Return Karpenter's own release."""
    releases = found(plan, "kubernetes:helm.sh/v3:Release")
    ours = [it for it in releases if it.inputs.get("namespace") == KARPENTER_NAMESPACE]
    return next((it for it in ours if it.inputs.get("name") == KARPENTER), None)


def cache_rules(plan: Plan) -> tuple[PlannedResource, ...]:
    """Return the rules by which images are pulled through ECR."""
    return found(plan, "aws:ecr/pullThroughCacheRule:PullThroughCacheRule")


def endpoints(plan: Plan, kind: str) -> tuple[PlannedResource, ...]:
    """Return the VPC's endpoints of a kind: `Gateway` or `Interface`."""
    return tuple(
        it for it in found(plan, "aws:ec2/vpcEndpoint:VpcEndpoint") if it.inputs.get("vpcEndpointType") == kind
    )


def services(each: Sequence[PlannedResource]) -> Iterator[str]:
    """Yield the services of endpoints: `s3`, `ecr.dkr`."""
    for it in each:
        # com.amazonaws.<region>.<service>, in China cn.com.amazonaws...
        yield text(it.inputs.get("serviceName")).partition("amazonaws.")[2].partition(".")[2]


def requirement(pool: PlannedResource | None, key: str) -> str:
    """Return what a pool asks of its nodes."""
    if pool is None:
        return ""
    asked = mappings(inside(pool.inputs, "spec", "template", "spec", "requirements"))
    return next((text(it.get("values")) for it in asked if it.get("key") == key), "")
