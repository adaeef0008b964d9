"""Where a pod may run: the NodePools that take it, and their instance types."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from guardrails.pods import Pod
from guardrails.pools import INSTANCE_TYPE, Pool, pools
from guardrails.rule import Resource
from guardrails.start_up.instances import FAMILY, GPU_NAME, TOLD, Kind
from guardrails.value import MalformedError, NotKnownError, Value

_OPEN = re.compile(r"^([a-z0-9.-]+\.)?(kubernetes\.io|k8s\.io|karpenter\.sh|k8s\.aws|(amazon)?aws\.com)/")
"""Labels that nodes get by themselves. All others must stand in the NodePool (Karpenter documentation, scheduling)."""
_NUMBER = re.compile(r"^[0-9]{1,18}\Z", re.ASCII)
_NAMING = (INSTANCE_TYPE, FAMILY, GPU_NAME)


@dataclass(frozen=True)
class Want:
    """What a label must be."""

    key: str
    operator: str
    values: Sequence[str]

    def takes(self, value: str | None) -> bool:
        """Return whether it takes a value; None: there is no such label."""
        if self.operator in ("In", "NotIn"):
            return (value in self.values) == (self.operator == "In")
        if self.operator in ("Exists", "DoesNotExist"):
            return (value is not None) == (self.operator == "Exists")
        if value is None or not _NUMBER.match(value):
            return False
        has, bound = int(value), int(self.values[0])
        return (has > bound if self.operator[0] == "G" else has < bound) or (len(self.operator) > 2 and has == bound)


def _want(value: Value) -> Want:
    operator, values = value["operator"].text(), [it.text() for it in value["values"].items()]
    numbers = operator in ("Gt", "Lt", "Gte", "Lte") and len(values) == 1 and _NUMBER.match(values[0])
    if not numbers and operator not in ("In", "NotIn", "Exists", "DoesNotExist"):
        raise MalformedError(f"{value.path}: no requirement of a label: {operator or 'no operator'} {values}")
    return Want(value["key"].text(), operator, values)


def _wants(pod: Pod) -> list[list[Want]]:
    """Return what a pod's selector and its required affinity want: any one of some lists."""
    selector = [Want(key, "In", [it.text()]) for key, it in pod.spec["nodeSelector"].fields()]
    required = pod.spec.at("affinity", "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution")
    terms = [[_want(it) for it in term["matchExpressions"].items()] for term in required["nodeSelectorTerms"].items()]
    return [[*selector, *term] for term in terms or [[]]]


@dataclass(frozen=True)
class Place:
    """A NodePool that takes a pod."""

    pool: Pool
    kinds: Sequence[Kind]
    """Instance types on which the pod may land there, as far as they are known."""
    complete: bool
    """Whether it has no others."""

    @property
    def products(self) -> frozenset[str]:
        """GPUs, by the value of their label; the pool's own name where nobody tells."""
        named = (
            self.pool.values(GPU_NAME) if not self.kinds else [it.labels.get(GPU_NAME, it.name) for it in self.kinds]
        )
        return frozenset(named or [f"those of NodePool {self.pool.name}"])


def places(pod: Pod, stack: Sequence[Resource], known: Mapping[str, Kind]) -> list[Place]:
    """Return where a pod with an accelerator may run: what its selector, affinity and tolerations leave.

    Where it tolerates the taints of no pool it gets those that its selector leaves.

    Raises:
        NotKnownError: no pool is known to take it, and of one that may it is not known.
    """
    found = list(selected(pod, stack, known))
    return [it for it in found if not untolerated(pod, it.pool)] or found


def selected(pod: Pod, stack: Sequence[Resource], known: Mapping[str, Kind]) -> list[Place]:
    """Return where a pod may run, whatever it tolerates."""
    wants = _wants(pod)
    found: list[Place] = []
    unclear: NotKnownError | MalformedError | None = None
    for resource in stack:
        for pool in pools(resource):
            try:
                found += _in(pool, wants, known)
            except (NotKnownError, MalformedError) as error:
                unclear = unclear or type(error)(f"NodePool {resource.name}: {error}")
    if unclear and not found:
        raise unclear
    return found


def named(pod: Pod, known: Mapping[str, Kind]) -> list[Kind]:
    """Return the instance types that a pod names itself, by type, family or GPU; none: it names none."""
    found = []
    for wants in _wants(pod):
        if not any(it.key in _NAMING and it.operator == "In" for it in wants):
            return []
        found += [kind for kind in known.values() if _is(kind, wants)]
    return found


def _in(pool: Pool, wants: Sequence[Sequence[Want]], known: Mapping[str, Kind]) -> Iterator[Place]:
    given = [_want(it) for it in pool.requirements]
    usable = [each for each in wants if all(_offers(pool, given, it) for it in each)]
    if not usable:
        return
    of_pool = [kind for kind in known.values() if _is(kind, given)]
    fit = [kind for kind in of_pool if any(_is(kind, each) for each in usable)]
    listed = {kind.labels.get(key) for kind in known.values() for key in _NAMING}
    complete = all(value in listed for it in given if it.key in _NAMING and it.operator == "In" for value in it.values)
    if fit or (pool.has_gpus and not (of_pool and complete)):
        yield Place(pool, fit, complete)


def _offers(pool: Pool, given: Sequence[Want], want: Want) -> bool:
    """Return whether a pool has nodes that a pod wants; what instance types decide is left to them."""
    if want.key == "karpenter.sh/nodepool":
        return want.takes(pool.name)
    labels = pool.labels
    if want.key in labels:
        return want.takes(labels[want.key])
    lists = [it for it in given if it.key == want.key and it.operator == "In"]
    if lists:
        return any(want.takes(value) for it in lists for value in it.values)
    if any(it.key == want.key for it in given) or _OPEN.match(want.key):
        return True
    return want.takes(None)


def _is(kind: Kind, wants: Sequence[Want]) -> bool:
    return all(
        it.takes(kind.labels.get(it.key)) for it in wants if it.key in TOLD and (kind.listed or it.key in kind.labels)
    )


def untolerated(pod: Pod, pool: Pool) -> list[str]:
    """Return the taints of a pool's nodes that keep a pod away, as `kubectl` writes them."""
    found = []
    for taint in pool.node["taints"].items():
        key, value, effect = (taint[it].text() for it in ("key", "value", "effect"))
        if effect != "PreferNoSchedule" and not any(
            tolerates(it, key, value, effect) for it in pod.spec["tolerations"].items()
        ):
            found.append(f"{key}={value}:{effect}" if value else f"{key}:{effect}")
    return found


def tolerates(toleration: Value, key: str, value: str | None = None, effect: str = "NoSchedule") -> bool:
    """Return whether a toleration covers a taint (core/v1, Toleration); a value of None is any."""
    named, operator = toleration["key"].text(), toleration["operator"].text() or "Equal"
    if toleration["effect"].text() not in ("", effect):
        return False
    if not named:
        return operator == "Exists"
    return named == key and (operator != "Equal" or value is None or toleration["value"].text() == value)
