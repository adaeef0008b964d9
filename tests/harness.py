"""The program under mocks: every registration is recorded, and asserted in plain Python after the program's end."""

import copy
import json
import os
import runpy
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

# an output inside an f-string raises instead of becoming text (PUL-01)
os.environ["PULUMI_ERROR_OUTPUT_STRING"] = "1"

import pulumi
import yaml
from pulumi.runtime.mocks import MockCallArgs, MockMonitor, MockResourceArgs, Mocks

ROOT = Path(__file__).parents[1]
STACKS = ("dev", "staging", "prod")
REGION = "us-west-2"
REFERENCE = {"4dabf18193072939515e22adb298388d": "5cf8f73096256a8f31e491e813e4eb8e"}


@dataclass(frozen=True)
class Registration:
    """One resource as the program asked for it."""

    urn: str
    kind: str
    name: str
    inputs: dict[str, Any]
    parent: str
    provider: str
    dependencies: frozenset[str]
    options: dict[str, Any]


@dataclass
class Recording:
    """Everything that a program registered and exported."""

    registered: list[Registration] = field(default_factory=list)
    outputs: dict[str, Any] = field(default_factory=dict)

    def all(self, kind: type | str) -> list[Registration]:
        token = kind if isinstance(kind, str) else pulumi.get_type_token(kind)
        return [r for r in self.registered if r.kind == token]

    def one(self, kind: type | str, name: str | None = None) -> Registration:
        found = [r for r in self.all(kind) if name in (None, r.name)]
        assert len(found) == 1, f"{len(found)} of {kind} {name or ''}: {[r.name for r in found]}"
        return found[0]

    def needs(self, urn: str) -> frozenset[str]:
        """Every URN that must exist before this one. The SDK has replaced each component by everything below it."""
        by_urn = {r.urn: r for r in self.registered}
        seen: set[str] = set()
        waiting = [urn]
        while waiting:
            current = by_urn.get(waiting.pop())
            if current is None:
                continue
            provider = current.provider.rpartition("::")[0]
            for other in {*current.dependencies, provider} - seen - {""}:
                seen.add(other)
                waiting.append(other)
        return frozenset(seen)

    def strings(self) -> Iterator[tuple[Registration, str]]:
        """Every text in every input, mapping keys included."""
        for registration in self.registered:
            for text in texts(registration.inputs):
                yield registration, text


def texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, item in value.items():
            yield key
            yield from texts(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from texts(item)


class Cloud(Mocks):
    """Answers a registration as AWS would, as far as the program looks at the answer. No invoke is answered."""

    def __init__(self, region: str, account: str) -> None:
        self.region, self.account = region, account
        self.monitor: MockMonitor

    def new_resource(self, args: MockResourceArgs) -> tuple[str, dict[str, Any]]:
        state = dict(args.inputs)
        if args.typ == "eks:index:Cluster":
            return "", {**state, **self._cluster(args)}
        if args.typ.startswith("kubernetes:"):
            metadata = {"name": f"{args.name}-1a2b3c4d", "namespace": "default", **(state.get("metadata") or {})}
            return f"{metadata['namespace']}/{metadata['name']}", {**state, "metadata": metadata}
        state.setdefault("name", f"{args.name}-1a2b3c4")
        state["arn"] = f"arn:aws:mock:{self.region}:{self.account}:{args.name}"
        if args.typ == "aws:ec2/launchTemplate:LaunchTemplate":
            state["latestVersion"] = 1
        return f"{args.name}-id", state

    def call(self, args: MockCallArgs) -> tuple[dict[str, Any], None]:
        raise AssertionError(f"unmocked invoke: {args.token}")

    def _cluster(self, args: MockResourceArgs) -> dict[str, Any]:
        name = args.inputs["name"]
        urn = f"urn:pulumi:test::vllm-eks::eks:index:Cluster$aws:eks/cluster:Cluster::{args.name}-eksCluster"
        made = {"name": name, "endpoint": f"https://{name}.eks.example", "arn": f"arn:aws:eks:::cluster/{name}"}
        self.monitor.resources[urn] = MockMonitor.ResourceRegistration(urn, name, made)
        kubeconfig = json.dumps({"clusters": [{"cluster": {"server": made["endpoint"]}}]})
        return {"eksCluster": {**REFERENCE, "urn": urn, "id": name, "packageVersion": ""}, "kubeconfigJson": kubeconfig}


class RecordingMonitor(MockMonitor):
    """Records what the mocks never see: parents, dependencies, providers and options."""

    def __init__(self, cloud: Cloud, recording: Recording) -> None:
        super().__init__(cloud)
        cloud.monitor = self
        self.recording = recording

    def RegisterResource(self, request: Any) -> Any:
        response = super().RegisterResource(request)
        if request.type != "pulumi:pulumi:Stack":
            self.recording.registered.append(
                Registration(
                    urn=response.urn,
                    kind=request.type,
                    name=request.name,
                    inputs=pulumi.runtime.rpc.deserialize_properties(request.object, True),
                    parent=request.parent,
                    provider=request.provider or next(iter(request.providers.values()), ""),
                    dependencies=frozenset(request.dependencies),
                    options={
                        "retain_on_delete": request.retainOnDelete,
                        "protect": request.protect,
                        "create": request.customTimeouts.create,
                        "update": request.customTimeouts.update,
                        "delete_before_replace": request.deleteBeforeReplace,
                    },
                )
            )
        return response


def record(
    build: Callable[[], object],
    *,
    preview: bool = False,
    region: str = REGION,
    account: str = "000000000000",
) -> Recording:
    """Run a program under mocks to its end and return what it registered."""
    recording = Recording()
    cloud = Cloud(region, account)
    pulumi.runtime.set_mocks(cloud, "vllm-eks", "test", preview=preview, monitor=RecordingMonitor(cloud, recording))

    @pulumi.runtime.test
    def program() -> None:
        build()

    program()
    return recording


def stack_settings(stack: str) -> dict[str, Any]:
    """The settings of a checked-in stack file, to be changed at will."""
    return copy.deepcopy(_stack_file(stack)["vllm-eks:settings"])


@cache
def _stack_file(stack: str) -> dict[str, Any]:
    return yaml.safe_load((ROOT / f"Pulumi.{stack}.yaml").read_text())["config"]


def record_program(
    raw: dict[str, Any], *, region: str = REGION, preview: bool = False, secrets: dict[str, str] | None = None
) -> Recording:
    """Run the real `__main__.py` under mocks with these settings."""
    config = {"aws:region": region, "vllm-eks:settings": json.dumps(raw), **(secrets or {})}
    pulumi.runtime.set_all_config(config, list(secrets or {}))
    exported: dict[str, Any] = {}

    def main() -> None:
        original = pulumi.export
        pulumi.export = lambda name, value: exported.update({name: value})
        try:
            runpy.run_path(str(ROOT / "__main__.py"), run_name="__main__")
        finally:
            pulumi.export = original

    recording = record(main, preview=preview, region=region, account=raw["account"]["id"])
    resolved: dict[str, Any] = {}

    @pulumi.runtime.test
    def resolve() -> pulumi.Output[None]:
        return pulumi.Output.from_input(exported).apply(resolved.update)

    if not preview:
        resolve()
    recording.outputs = resolved
    return recording


@cache
def stack_recording(stack: str) -> Recording:
    """The program with a checked-in stack file: run once, shared by all tests that only look."""
    return record_program(stack_settings(stack))


def document(registration: Registration, key: str) -> dict[str, Any]:
    """A policy document of a resource."""
    return json.loads(registration.inputs[key])
