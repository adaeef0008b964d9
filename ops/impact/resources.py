"""What a change replaces and deletes, and what forces it."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from ops.impact.plan import Plan, Resource

STATEFUL: Mapping[str, str] = {
    "aws:s3/bucket:Bucket": "bucket",
    "aws:kms/key:Key": "KMS key",
    "aws:eks/cluster:Cluster": "cluster",
    "aws:ecr/repository:Repository": "ECR repository",
    "kubernetes:core/v1:Namespace": "namespace",
}
"""What holds things that no `up` brings back."""

_CONTENT_NAMED = "kubernetes:core/v1:ConfigMap"
"""Its name is its content's: whenever a file changes there is another one, and nothing is lost."""

_PROVIDER = "pulumi:providers:"


@dataclass(frozen=True, kw_only=True)
class Ended:
    """A resource that is replaced or deleted."""

    type: str
    name: str
    component: str
    """Name and class of the component that it belongs to."""
    action: str
    """replace or delete."""
    forced_by: tuple[str, ...]
    """Paths of the properties. A deletion has none."""
    follows: bool
    """What forces it is the value of something else that is replaced."""
    stateful: str
    """What it is when it holds things; else empty."""
    retained: bool
    """It is given up and stays where it is."""
    routine: bool
    """A file of a pod, in a ConfigMap that is called by its content."""


@dataclass(frozen=True, kw_only=True)
class Resources:
    """Of the whole stack."""

    ended: tuple[Ended, ...]
    counts: Mapping[str, int]
    """By action, without components and providers."""

    def of(self, action: str) -> tuple[Ended, ...]:
        """Return what is replaced, or deleted, without what is routine."""
        return tuple(it for it in self.ended if it.action == action and not it.routine)


def resources(plan: Plan) -> Resources:
    """Return what the plan of a change replaces and deletes, in its order."""
    real = [it for it in plan.resources if it.custom and not it.type.startswith(_PROVIDER)]
    anew = {it.urn for it in plan.resources if it.action in {"replace", "create"}}
    ended = tuple(_ended(it, anew) for it in real if it.action in {"replace", "delete"})
    return Resources(ended=ended, counts=Counter(it.action for it in real))


def grouped(ended: Iterable[Ended]) -> dict[str, int]:
    """Return how many of them belong to each component."""
    return Counter(it.component for it in ended)


def _ended(it: Resource, anew: set[str]) -> Ended:
    forcing = tuple(path for path, kind in it.changed.items() if kind.endswith("-replace")) or tuple(it.changed)
    forced_by = forcing if it.action == "replace" else ()
    return Ended(
        type=it.type,
        name=it.name,
        component=_component(it.parent),
        action=it.action,
        forced_by=forced_by,
        follows=bool(forced_by) and all(_from(it, path) & anew for path in forced_by),
        stateful=STATEFUL.get(it.type, ""),
        retained=it.retained,
        routine=it.type == _CONTENT_NAMED,
    )


def _from(it: Resource, path: str) -> set[str]:
    """Return the URNs that a property's value comes from."""
    return set(it.property_dependencies.get(path.partition(".")[0].partition("[")[0], ()))


def _component(urn: str) -> str:
    """`urn:pulumi:dev::vllm-eks::vllm-eks:serving:VllmServer::gemma` is `VllmServer gemma`."""
    *_, types, name = ["", "", *urn.split("::", 3)]
    return f"{types.rpartition('$')[2].rpartition(':')[2]} {name}"
