"""Pods wherever a Kubernetes object holds one, with their containers and what they ask for."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import pairwise

from guardrails.later import Later
from guardrails.rule import Resource
from guardrails.value import MalformedError, Value

_SETS = (
    *("apps/v1:Deployment", "apps/v1:StatefulSet", "apps/v1:ReplicaSet", "apps/v1:DaemonSet"),
    *("batch/v1:Job", "core/v1:ReplicationController"),
)
_TEMPLATES: Mapping[str, Sequence[Sequence[str]]] = {
    "kubernetes:core/v1:Pod": [()],
    **{f"kubernetes:{kind}": [("spec", "template")] for kind in _SETS},
    "kubernetes:batch/v1:CronJob": [("spec", "jobTemplate", "spec", "template")],
    # one engine over several nodes
    "kubernetes:leaderworkerset.x-k8s.io/v1:LeaderWorkerSet": [
        ("spec", "leaderWorkerTemplate", "leaderTemplate"),
        ("spec", "leaderWorkerTemplate", "workerTemplate"),
    ],
}
WORKLOADS = frozenset(_TEMPLATES)
"""Type tokens of what holds a pod."""
DEPLOYMENT = "kubernetes:apps/v1:Deployment"
DAEMON_SET = "kubernetes:apps/v1:DaemonSet"
SERVING = frozenset({DEPLOYMENT, "kubernetes:apps/v1:StatefulSet"})
"""What runs until somebody ends it, and answers requests."""

GPU = re.compile(r"^(nvidia\.com/(gpu(\.shared)?|mig-.+)|amd\.com/gpu|aws\.amazon\.com/neuron(core|device)?)$")
"""Extended resources that are accelerators."""


_SHELLS = frozenset({"sh", "bash", "ash", "dash"})
_RUN = re.compile(r"^-[a-z]*c$")


def _typed(line: str) -> list[str]:
    try:
        return shlex.split(line, comments=True)
    except ValueError:
        # a quote is left open
        return line.split()


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
        asked = {
            name: it
            for key in ("limits", "requests")
            for name, it in self.value.at("resources", key).fields()
            if GPU.match(name)
        }
        return sum(int(quantity(it)) for it in asked.values())

    @property
    def words(self) -> list[str]:
        """Command and arguments, as they would be typed; what a shell gets to run is taken apart as the shell does.

        Raises:
            NotKnownError: one is not known.
        """
        words = [it.text() for key in ("command", "args") for it in self.value[key].items()]
        if not words or words[0].rpartition("/")[2] not in _SHELLS:
            return words
        found = words[:1]
        for before, word in pairwise(words):
            found += _typed(word) if _RUN.match(before) else [word]
        return found

    def env(self, name: str) -> Value:
        """Return the value of an environment variable; missing where there is none, or it comes from elsewhere."""
        found = Value(None, self.value["env"].path)
        for it in self.value["env"].items():
            if it["name"].text() == name:
                # the last one holds (core/v1, EnvVar)
                found = it["value"]
        return found

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
    template: Value
    """Its metadata and spec."""

    @property
    def spec(self) -> Value:
        """Its spec."""
        return self.template["spec"]

    @property
    def containers(self) -> list[Container]:
        """All of them, those that run first too."""
        return [Container(it) for key in ("initContainers", "containers") for it in self.spec[key].items()]

    @property
    def gpus(self) -> int:
        """Accelerators that it holds: containers that run side by side add up, those that run first take turns."""
        beside, first = 0, 0
        for it in self.spec["initContainers"].items():
            container = Container(it)
            beside += container.gpus if container.is_sidecar else 0
            first = max(first, 0 if container.is_sidecar else container.gpus)
        return max(first, beside + sum(Container(it).gpus for it in self.spec["containers"].items()))

    @property
    def has_gpus(self) -> bool:
        """Whether it asks for an accelerator. One container that is known to tells, whatever the others are."""
        later = Later()
        for key in ("initContainers", "containers"):
            with later:
                for it in self.spec[key].items():
                    with later:
                        if Container(it).gpus:
                            return True
        later.end()
        return False

    @property
    def account(self) -> tuple[str, str]:
        """Namespace and service account."""
        namespace = self.of.props.at("metadata", "namespace").text() or "default"
        return namespace, self.spec["serviceAccountName"].text() or "default"

    @property
    def labels(self) -> dict[str, str]:
        """By which Services find it. Empty: it has none."""
        return {key: it.text() for key, it in self.template.at("metadata", "labels").fields()}


def pods(resource: Resource) -> Iterator[Pod]:
    """Yield the pod of a workload; of a LeaderWorkerSet there are two."""
    for path in _TEMPLATES.get(resource.kind, ()):
        yield Pod(resource, resource.props.at(*path))


def gpu_pods(resource: Resource) -> Iterator[Pod]:
    """Yield the pod of a workload that asks for an accelerator."""
    later = Later()
    for pod in pods(resource):
        with later:
            if pod.has_gpus:
                yield pod
    later.end()


def containers(resource: Resource) -> Iterator[Container]:
    """Yield the containers of a workload, those that run first too."""
    later = Later()
    for pod in pods(resource):
        for key in ("initContainers", "containers"):
            with later:
                yield from (Container(it) for it in pod.spec[key].items())
    later.end()


_SUFFIXES = {
    "": Decimal(1),
    "n": Decimal("1e-9"),
    "u": Decimal("1e-6"),
    "m": Decimal("1e-3"),
    **{suffix: Decimal(1000) ** power for power, suffix in enumerate("kMGTPE", start=1)},
    **{f"{suffix}i": Decimal(1024) ** power for power, suffix in enumerate("KMGTPE", start=1)},
}


# of exponents two digits: more than 99 would be no quantity, and take minutes to write out
_QUANTITY = r"([+-]?(?:[0-9]{1,64}\.?[0-9]{0,64}|\.[0-9]{1,64})(?:[eE][+-]?[0-9]{1,2})?)([a-zA-Z]*)"


def quantity(value: Value) -> Decimal:
    """Return a quantity of Kubernetes in its unit (cores, bytes, pieces); 0 where it is missing.

    Raises:
        MalformedError: it is none (apimachinery, `resource.Quantity`).
    """
    raw = value.known()
    if raw is None:
        return Decimal(0)
    text = str(raw)
    if isinstance(raw, bool) or not (found := re.fullmatch(_QUANTITY, text, re.ASCII)):
        raise MalformedError(f"{value.path}: no quantity of Kubernetes: {text!r}")
    if found[2] not in _SUFFIXES:
        raise MalformedError(f"{value.path}: no quantity of Kubernetes: {text!r}")
    return Decimal(found[1]) * _SUFFIXES[found[2]]


def whole(value: Value) -> int | None:
    """Return a whole number of Kubernetes (int32); None where it is missing.

    Raises:
        MalformedError: it is none.
    """
    found = value.number()
    if found is None:
        return None
    if not abs(found) < 2**31 or found != int(found):
        raise MalformedError(f"{value.path}: expected a whole number, found {found:g}")
    return int(found)
