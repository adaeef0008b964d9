"""Pods wherever a Kubernetes object holds one, with their containers and what they ask for."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal

from guardrails.rule import Resource
from guardrails.value import MalformedError, Value

_TEMPLATES = {
    "kubernetes:core/v1:Pod": ("spec",),
    "kubernetes:apps/v1:Deployment": ("spec", "template", "spec"),
    "kubernetes:apps/v1:StatefulSet": ("spec", "template", "spec"),
    "kubernetes:apps/v1:ReplicaSet": ("spec", "template", "spec"),
    "kubernetes:apps/v1:DaemonSet": ("spec", "template", "spec"),
    "kubernetes:batch/v1:Job": ("spec", "template", "spec"),
    "kubernetes:batch/v1:CronJob": ("spec", "jobTemplate", "spec", "template", "spec"),
}
WORKLOADS = frozenset(_TEMPLATES)
"""Type tokens of what holds a pod."""
DEPLOYMENT = "kubernetes:apps/v1:Deployment"
DAEMON_SET = "kubernetes:apps/v1:DaemonSet"
SERVING = frozenset({DEPLOYMENT, "kubernetes:apps/v1:StatefulSet"})
"""What runs until somebody ends it, and answers requests."""

GPU = re.compile(r"^(nvidia\.com/(gpu|mig-.+)|amd\.com/gpu|aws\.amazon\.com/neuron(core)?)$")
"""Extended resources that are accelerators."""


@dataclass(frozen=True)
class Container:
    """A container of a pod."""

    value: Value

    @property
    def name(self) -> str:
        """Its name, for messages."""
        return self.value["name"].text() or "without a name"

    @property
    def image(self) -> str:
        """Its image reference."""
        return self.value["image"].text()

    @property
    def is_sidecar(self) -> bool:
        """Whether it starts before the others and stays."""
        return self.value["restartPolicy"].text() == "Always"

    @property
    def gpus(self) -> int:
        """Accelerators that it asks for. A limit alone is a request too."""
        asked = {**self.value.at("resources", "limits").mapping(), **self.value.at("resources", "requests").mapping()}
        names = [name for name in asked if GPU.match(name)]
        place = self.value["resources"]
        return sum(int(quantity(Value(asked[name], f"{place.path}[{name}]"))) for name in names)

    @property
    def words(self) -> list[str]:
        """Command and arguments, as they would be typed. Raises NotKnownError where one is not known."""
        return [it.text() for key in ("command", "args") for it in self.value[key].items()]

    def env(self, name: str) -> Value:
        """Return the value of an environment variable; missing where there is none, or it comes from elsewhere."""
        for it in self.value["env"].items():
            if it["name"].text() == name:
                return it["value"]
        return Value(None, self.value["env"].path)

    def argument(self, *flags: str) -> str | None:
        """Return what stands behind a flag, `--flag value` or `--flag=value`; empty: nothing; None: no such flag."""
        words = self.words
        for place, word in enumerate(words):
            name, equals, value = word.partition("=")
            if name in flags:
                following = words[place + 1] if place + 1 < len(words) else ""
                return value if equals else "" if following.startswith("--") else following
        return None


@dataclass(frozen=True)
class Pod:
    """The pod that a workload makes."""

    of: Resource
    spec: Value

    @property
    def containers(self) -> list[Container]:
        """All of them, those that run first too."""
        return [Container(it) for key in ("initContainers", "containers") for it in self.spec[key].items()]

    @property
    def gpus(self) -> int:
        """Accelerators that it holds: containers that run side by side add up."""
        return sum(it.gpus for it in self.containers)

    @property
    def account(self) -> tuple[str, str]:
        """Namespace and service account."""
        namespace = self.of.props.at("metadata", "namespace").text() or "default"
        return namespace, self.spec["serviceAccountName"].text() or "default"

    @property
    def labels(self) -> dict[str, str]:
        """By which Services find it. Empty: it has none."""
        spec = _TEMPLATES[self.of.kind]
        template = self.of.props.at(*spec[:-1]) if len(spec) > 1 else self.of.props
        return {key: it.text() for key, it in template.at("metadata", "labels").fields()}


def pods(resource: Resource) -> Iterator[Pod]:
    """Yield the pod of a workload."""
    if resource.kind in _TEMPLATES:
        yield Pod(resource, resource.props.at(*_TEMPLATES[resource.kind]))


def gpu_pods(resource: Resource) -> Iterator[Pod]:
    """Yield the pod of a workload that asks for an accelerator."""
    for pod in pods(resource):
        if pod.gpus:
            yield pod


def containers(resource: Resource) -> Iterator[Container]:
    """Yield the containers of a workload, those that run first too."""
    for pod in pods(resource):
        yield from pod.containers


_SUFFIXES = {
    "": Decimal(1),
    "n": Decimal("1e-9"),
    "u": Decimal("1e-6"),
    "m": Decimal("1e-3"),
    **{suffix: Decimal(1000) ** power for power, suffix in enumerate("kMGTPE", start=1)},
    **{f"{suffix}i": Decimal(1024) ** power for power, suffix in enumerate("KMGTPE", start=1)},
}


def quantity(value: Value) -> Decimal:
    """Return a quantity of Kubernetes in its unit (cores, bytes, pieces); 0 where it is missing.

    Raises:
        MalformedError: it is none (apimachinery, `resource.Quantity`).
    """
    raw = value.known()
    if raw is None:
        return Decimal(0)
    text = str(raw)
    if isinstance(raw, bool) or not (found := re.fullmatch(r"([+-]?[0-9.]+(?:[eE][+-]?[0-9]+)?)([a-zA-Z]*)", text)):
        raise MalformedError(f"{value.path}: no quantity of Kubernetes: {text!r}")
    if found[2] not in _SUFFIXES:
        raise MalformedError(f"{value.path}: no quantity of Kubernetes: {text!r}")
    return Decimal(found[1]) * _SUFFIXES[found[2]]
