"""Karpenter's NodePools: what they offer, and which pods they are for."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

from guardrails.pods import GPU, quantity
from guardrails.rule import Resource
from guardrails.value import MalformedError, NotKnownError, Value

NODE_POOL = "kubernetes:karpenter.sh/v1:NodePool"
NODE_CLASS = "kubernetes:karpenter.k8s.aws/v1:EC2NodeClass"
CAPACITY_TYPE = "karpenter.sh/capacity-type"
INSTANCE_TYPE = "node.kubernetes.io/instance-type"
# the second is what EKS Auto Mode calls the same
_OF_INSTANCES = r"^(karpenter\.k8s\.aws|eks\.amazonaws\.com)/instance-"
_GPU_KEYS = re.compile(_OF_INSTANCES + "(gpu|accelerator)-")
_TYPE_KEYS = re.compile(rf"{_OF_INSTANCES}(family|category)$|^{re.escape(INSTANCE_TYPE)}$")
_GPU_TYPES = re.compile(r"^(g|gr|p|trn|inf)(\d|$)")

T = TypeVar("T")


def sifted(those: Iterable[T], holds: Callable[[T], bool]) -> tuple[list[T], NotKnownError | MalformedError | None]:
    """Return those for which something is known to hold, and the first fault of the others where there is one.

    What cannot be told of one hides nothing of the next: raise the fault when it matters.
    """
    found, fault = [], None
    for it in those:
        try:
            found += [it] if holds(it) else []
        except (NotKnownError, MalformedError) as error:
            fault = fault or error
    return found, fault


def any_holds(signs: Iterable[Callable[[], bool]]) -> bool:
    """Whether one of several signs is there.

    Raises:
        NotKnownError, MalformedError: none is known to be, and one cannot be told.
    """
    found, fault = sifted(signs, lambda sign: sign())
    if fault and not found:
        raise fault
    return bool(found)


def named(resource: Resource) -> Value:
    """Return a resource's properties with paths that begin with its name: for what a rule reads of another one."""
    return Value(resource.props.raw, resource.name)


def _wants_gpus(requirement: Value) -> bool:
    key, operator = requirement["key"].text(), requirement["operator"].text()
    if operator in {"NotIn", "DoesNotExist"}:  # it keeps accelerators out
        return False
    if _GPU_KEYS.match(key):
        # any other operator takes instances alone that have the label
        return operator != "In" or any(it.text() != "0" for it in requirement["values"].items())
    return bool(_TYPE_KEYS.match(key)) and any(_GPU_TYPES.match(it.text()) for it in requirement["values"].items())


def _keeps_for_gpus(taint: Value) -> bool:
    return bool(GPU.match(taint["key"].text()))


def _admits(requirement: Value, value: str) -> bool:
    operator = requirement["operator"].text()
    listed = value in [it.text() for it in requirement["values"].items()]
    return {"In": listed, "NotIn": not listed, "DoesNotExist": False}.get(operator, True)


@dataclass(frozen=True)
class Pool:
    """A NodePool."""

    of: Resource

    @property
    def spec(self) -> Value:
        """Its spec."""
        return self.of.props["spec"]

    @property
    def name(self) -> str:
        """As pods and people know it."""
        return self.of.props.at("metadata", "name").text() or self.of.name

    @property
    def node(self) -> Value:
        """What its nodes get."""
        return self.spec.at("template", "spec")

    @property
    def requirements(self) -> list[Value]:
        """What instances must be."""
        return list(self.node["requirements"].items())

    def values(self, key: str) -> list[str]:
        """Return the values that a label may have; empty: any."""
        found: list[str] = []
        for it in self.requirements:
            if it["key"].text() == key and it["operator"].text() == "In":
                found += [value.text() for value in it["values"].items()]
        return found

    @property
    def has_gpus(self) -> bool:
        """Whether its nodes have accelerators, by what it asks for, its taints or its limits."""
        return any_holds((self._asks, self._is_tainted, self._is_limited))

    def _asks(self) -> bool:
        return any_holds(partial(_wants_gpus, it) for it in self.requirements)

    def _is_tainted(self) -> bool:
        return any_holds(partial(_keeps_for_gpus, it) for it in self.node["taints"].items())

    def _is_limited(self) -> bool:
        return any(map(GPU.match, self.spec["limits"].mapping()))

    @property
    def is_static(self) -> bool:
        """Whether it has a fixed number of nodes."""
        return not self.spec["replicas"].is_missing

    def admits(self, key: str, value: str) -> bool:
        """Whether its nodes may have a value of a label that instances bring; without a requirement, any."""
        return all(_admits(it, value) for it in self.requirements if it["key"].text() == key)

    @property
    def labels(self) -> dict[str, str]:
        """What its nodes are labelled with, and what has one value alone."""
        given = {key: it.text() for key, it in self.spec.at("template", "metadata", "labels").fields()}
        fixed = {it["key"].text(): self.values(it["key"].text()) for it in self.requirements}
        return {**{key: values[0] for key, values in fixed.items() if len(values) == 1}, **given}

    @property
    def gpu_limit(self) -> int | None:
        """Accelerators that it may have; None: as many as there are."""
        limits = [it for key, it in self.spec["limits"].fields() if GPU.match(key) and not it.is_missing]
        return sum(int(quantity(it)) for it in limits) if limits else None


def pools(resource: Resource) -> Iterator[Pool]:
    """Yield the pool that a resource is."""
    if resource.kind == NODE_POOL:
        yield Pool(resource)


def gpu_pools(resource: Resource) -> Iterator[Pool]:
    """Yield the pool that a resource is, where its nodes have accelerators."""
    for pool in pools(resource):
        if pool.has_gpus:
            yield pool
