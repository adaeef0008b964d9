"""Which nodes Karpenter replaces because of a change, and when.

What counts is read in the sources of Karpenter 1.14.1 and 1.15.0. A NodePool's hash is that of `spec.template` without
requirements (karpenter, pkg/apis/v1/nodepool.go); limits, budgets, weight, replicas and consolidation only decide how
it acts. Requirements drift the nodes that no longer fit (controllers/nodeclaim/disruption/drift.go). An EC2NodeClass'
hash is that of its spec without selector terms (karpenter-provider-aws, pkg/apis/v1/ec2nodeclass.go), which drift the
nodes whose image, subnet, reservation or security groups are no longer selected (pkg/cloudprovider/drift.go). A field
that is not known here counts as hashed.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from infra.gpu_pools.agreed import POOL_LABEL, TYPE_LABEL
from infra.gpu_pools.manifests import NODE_CLASS, NODE_POOL
from infra.instances import catalogue
from ops.impact.leaves import ORDER, Change, changes
from ops.impact.plan import KUBERNETES, Plan, Resource
from ops.impact.revision.side import Side, section

POOL_TYPE, CLASS_TYPE = f"{KUBERNETES}{NODE_POOL}:NodePool", f"{KUBERNETES}{NODE_CLASS}:EC2NodeClass"
CLUSTER_TYPE, GROUP_TYPE = "aws:eks/cluster:Cluster", "aws:eks/nodeGroup:NodeGroup"

_REMOVED = {
    "subnetSelectorTerms": "those in a removed subnet",
    "capacityReservationSelectorTerms": "those of a removed reservation",
}
"""Selector terms of an EC2NodeClass of which only a removed one drifts nodes, and which nodes."""

_SETS = frozenset({"amiSelectorTerms", "securityGroupSelectorTerms"})
"""Those of which any change drifts all nodes."""

_NEVER = frozenset({"ipPrefixCount", "amiFamily"})
"""Ignored by the hash; the family that it means, or the alias, is compared with the image instead."""

ALL = "all"


@dataclass(frozen=True, kw_only=True)
class Cause:
    """Why nodes are replaced."""

    field: str
    """`NodePool template.spec.expireAfter`."""
    change: Change | None
    """None: the thing itself goes."""
    nodes: str
    """`all`, or which of them."""


@dataclass(frozen=True, kw_only=True)
class Drift:
    """Of one pool."""

    pool: str
    at_most: int
    """Nodes that the limit allows."""
    causes: tuple[Cause, ...]
    gone: bool
    """The NodePool is deleted or replaced: its nodes go with this very change, whatever the window says."""
    window: str
    """When Karpenter may replace them: `always`, `never`, or the window as the stack file has it."""

    @property
    def stays(self) -> bool:
        """Whether Karpenter leaves the nodes as they are for now."""
        return self.window == "never" and not self.gone


@dataclass(frozen=True, kw_only=True)
class SystemNodes:
    """A node group of EKS, whose nodes go with `up`. No server runs there."""

    group: str
    nodes: int
    causes: tuple[Cause, ...]


def system_nodes(before: Side, after: Side) -> tuple[SystemNodes, ...]:
    """Return the node groups whose nodes EKS replaces: for another launch template, or another Kubernetes version.

    A group that is replaced itself is none of them: it is told with what is replaced.
    """
    found = []
    old = {it.urn: it for it in before.plan.resources}
    for group in after.plan.of(GROUP_TYPE):
        was = old.get(group.urn)
        if was is None or group.action != "update":
            continue
        templates = [after.plan.by_urn.get(urn) for urn in group.property_dependencies.get("launchTemplate", ())]
        pairs = [(old.get(it.urn), it) for it in templates if it is not None and it.action != "same"]
        fields = [
            *(("launch template", it) for then, now in pairs if then for it in changes(then.inputs, now.inputs)),
            *(("node group", it) for it in changes(*({"version": it.inputs.get("version")} for it in (was, group)))),
        ]
        if fields:
            causes = tuple(Cause(field=f"{of} {it.path}", change=it, nodes=ALL) for of, it in fields)
            nodes = int((was.inputs.get("scalingConfig") or {}).get("desiredSize", 0))
            found.append(SystemNodes(group=group.name, nodes=nodes, causes=causes))
    return tuple(found)


def drifts(before: Side, after: Side) -> tuple[Drift, ...]:
    """Return the pools whose nodes are replaced, in the order of the plan before the change."""
    found = []
    pools, classes = after.plan.objects(POOL_TYPE), after.plan.objects(CLASS_TYPE)
    upgrade = tuple(_upgrade(before.plan, after.plan))
    for name, old in before.plan.objects(POOL_TYPE).items():
        key, new = _key(old, name), pools.get(name)
        if gone := new is None or new.action == "replace":
            causes: tuple[Cause, ...] = (Cause(field="NodePool", change=None, nodes=ALL),)
        else:
            was, now = (it.get(_class_of(of)) for it, of in ((before.plan.objects(CLASS_TYPE), old), (classes, new)))
            causes = (*_pool(old.spec, new.spec), *(_class(was.spec, now.spec) if was and now else ()), *upgrade)
        if causes:
            window = _window(section(after if not gone else before, "gpuPools", key).get("updateWindow"))
            found.append(Drift(pool=key, at_most=most_nodes(old, before.plan), causes=causes, gone=gone, window=window))
    return tuple(found)


def most_nodes(pool: Resource, plan: Plan) -> int:
    """Return how many nodes a pool's limit allows, when all are of the type with the fewest GPUs."""
    gpus = int(plan.pools.get(_key(pool, pool.api_name), {}).get("maxGpus", 0))
    return gpus // min((catalogue()[it].gpus for it in types(pool) if it in catalogue()), default=1)


def types(pool: Resource) -> tuple[str, ...]:
    """Return the instance types that a NodePool admits."""
    for it in _template(pool.spec).get("requirements") or ():
        if it.get("key") == TYPE_LABEL:
            return tuple(it.get("values") or ())
    return ()


def _key(pool: Resource, name: str) -> str:
    """Return what the stack file calls it: a static pool's object has another name."""
    labels = ((pool.spec.get("template") or {}).get("metadata") or {}).get("labels") or {}
    return str(labels.get(POOL_LABEL, name))


def _class_of(pool: Resource) -> str:
    return str((_template(pool.spec).get("nodeClassRef") or {}).get("name", ""))


def _pool(before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[Cause]:
    requirements = [_by_key(_template(it).get("requirements") or ()) for it in (before, after)]
    for change in changes(_hashed(before), _hashed(after)):
        if not change.path.endswith(ORDER):
            yield Cause(field=f"NodePool template.{change.path}", change=change, nodes=ALL)
    for key, now in requirements[1].items():
        was = requirements[0].get(key)
        if nodes := _unfit(was, now):
            values = [None if it is None else [it["operator"], *it.get("values", ())] for it in (was, now)]
            change = Change(f"requirements[{key}]", values[0], values[1])
            yield Cause(field=f"NodePool template.spec.{change.path}", change=change, nodes=nodes)


def _hashed(spec: Mapping[str, Any]) -> dict[str, Any]:
    template = dict(spec.get("template") or {})
    return template | {"spec": {key: it for key, it in _template(spec).items() if key != "requirements"}}


def _unfit(was: Mapping[str, Any] | None, now: Mapping[str, Any]) -> str:
    """Return which nodes a requirement no longer admits; empty when none."""
    if was == now:
        return ""
    operator, values = now.get("operator"), set(now.get("values") or ())
    if was is None or was.get("operator") != operator or operator not in {"In", "NotIn"}:
        return "those that no longer fit"
    had = set(was.get("values") or ())
    refused = sorted(had - values if operator == "In" else values - had)
    return f"those with {', '.join(refused)}" if refused else ""


def _class(before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[Cause]:
    for field in [*after, *(it for it in before if it not in after)]:
        old, new = before.get(field), after.get(field)
        if field in _NEVER or _as_set(old) == _as_set(new):
            continue
        if field in _REMOVED:
            if removed := [it for it in old or () if it not in (new or ())]:
                yield Cause(
                    field=f"EC2NodeClass {field}", change=Change(field, _short(removed), None), nodes=_REMOVED[field]
                )
        elif field in _SETS or not isinstance(new, Mapping | list) or not isinstance(old, Mapping | list):
            yield Cause(field=f"EC2NodeClass {field}", change=Change(field, _short(old), _short(new)), nodes=ALL)
        else:
            for change in changes({field: old}, {field: new}):
                if not change.path.endswith(ORDER):
                    yield Cause(field=f"EC2NodeClass {change.path}", change=change, nodes=ALL)


def _upgrade(before: Plan, after: Plan) -> Iterator[Cause]:
    """Another Kubernetes minor means another image behind the same alias."""
    versions = [next((it.inputs.get("version") for it in plan.of(CLUSTER_TYPE)), None) for plan in (before, after)]
    if versions[0] != versions[1]:
        yield Cause(field="cluster version", change=Change("version", versions[0], versions[1]), nodes=ALL)


def _window(told: Any) -> str:
    if isinstance(told, Mapping):
        return f"{told.get('schedule')} UTC for {told.get('duration')}"
    return str(told or "always")


def _template(spec: Mapping[str, Any]) -> Mapping[str, Any]:
    found: Mapping[str, Any] = (spec.get("template") or {}).get("spec") or {}
    return found


def _by_key(requirements: Sequence[Mapping[str, Any]]) -> dict[str, Mapping[str, Any]]:
    return {str(it.get("key")): it for it in requirements}


def _as_set(value: Any) -> Any:
    """The hash takes every list for a set."""
    return sorted(map(repr, value)) if isinstance(value, list) else value


def _short(value: Any) -> Any:
    if isinstance(value, list):
        return ", ".join(" ".join(map(str, it.values())) if isinstance(it, Mapping) else str(it) for it in value)
    return value
