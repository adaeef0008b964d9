"""The other side of a program under mocks: what answers it, and what listens."""

import json
from collections.abc import Mapping
from typing import Any

import pulumi
from pulumi.runtime.mocks import MockCallArgs, MockMonitor, MockResourceArgs, Mocks

from tests.aliases import STACK, aliases, urn
from tests.recording import Recording, Registration

NAME = "test"
"""Of the stack."""

REFERENCE = {"4dabf18193072939515e22adb298388d": "5cf8f73096256a8f31e491e813e4eb8e"}
"""How a resource reference is marked on the wire."""


class Cloud(Mocks):
    """Answers a registration as AWS would, as far as the program looks at the answer, and one invoke, no other."""

    def __init__(self, region: str, account: str, stacks: Mapping[str, dict[str, Any]]) -> None:
        self.region, self.account, self.stacks = region, account, stacks
        self.monitor: MockMonitor

    def new_resource(self, args: MockResourceArgs) -> tuple[str, dict[str, Any]]:
        if args.typ == "pulumi:pulumi:StackReference":
            return args.name, {"name": args.name, "outputs": self.stacks[args.name], "secretOutputNames": []}
        state = dict(args.inputs)
        if args.typ == "eks:index:Cluster":
            return "", {**state, **self._cluster(args)}
        if args.typ.startswith("kubernetes:"):
            metadata = {"name": f"{args.name}-1a2b3c4d", "namespace": "default", **(state.get("metadata") or {})}
            return f"{metadata['namespace']}/{metadata['name']}", {**state, "metadata": metadata}
        state.setdefault("name", f"{args.name}-1a2b3c4")
        state["arn"] = f"arn:aws:mock:{self.region}:{self.account}:{args.name}"
        if args.typ == "aws:ec2/vpcEndpoint:VpcEndpoint":
            state["cidrBlocks"] = ["192.0.2.0/24", "198.51.100.0/24"]
        if args.typ == "aws:ec2/launchTemplate:LaunchTemplate":
            state["latestVersion"] = 1
        if args.typ == "aws:secretsmanager/secretVersion:SecretVersion":
            state["secretArn"] = state["secretId"]
        return f"{args.name}-id", state

    def call(self, args: MockCallArgs) -> tuple[dict[str, Any], list[tuple[str, str]]]:
        if args.token == "aws:s3/getBucket:getBucket":  # noqa: S105 - a type token
            return self.found_bucket(args.args["bucket"]), []
        raise AssertionError(f"unmocked invoke: {args.token}")

    def found_bucket(self, name: str) -> dict[str, Any]:
        return {"id": name, "bucket": name, "bucketRegion": self.region}

    def _cluster(self, args: MockResourceArgs) -> dict[str, Any]:
        name = args.inputs["name"]
        urn = f"urn:pulumi:test::vllm-eks::eks:index:Cluster$aws:eks/cluster:Cluster::{args.name}-eksCluster"
        made = {
            "name": name,
            "vpcConfig": {"clusterSecurityGroupId": "sg-cluster"},
            "endpoint": f"https://{name}.eks.example",
            "arn": f"arn:aws:eks:::cluster/{name}",
        }
        self.monitor.resources[urn] = MockMonitor.ResourceRegistration(urn, name, made)
        kubeconfig = json.dumps({"clusters": [{"cluster": {"server": made["endpoint"]}}]})
        return {"eksCluster": {**REFERENCE, "urn": urn, "id": name, "packageVersion": ""}, "kubeconfigJson": kubeconfig}


class RecordingMonitor(MockMonitor):
    """Records what the mocks never see: parents, dependencies, providers, options, aliases, outputs of components."""

    def __init__(self, cloud: Cloud, recording: Recording, project: str) -> None:
        super().__init__(cloud)
        cloud.monitor = self
        self.recording, self.project = recording, project
        self.claimed: dict[str, Any] = {}

    def make_urn(self, parent: str, type_: str, name: str) -> str:
        return urn(parent, type_, name, stack=NAME, project=self.project)

    def RegisterResource(self, request: Any) -> Any:
        name = self.make_urn(request.parent, request.type, request.name)
        # the engine's own refusal: mocks would overwrite the first one (PUL-04)
        assert self.claimed.setdefault(name, request) is request, f"duplicate URN: {name}"
        response = super().RegisterResource(request)
        if request.type != STACK:
            known = {r.urn: r.aliases for r in self.recording.registered}
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
                        "delete": request.customTimeouts.delete,
                        "delete_before_replace": request.deleteBeforeReplace,
                        "ignore_changes": tuple(request.ignoreChanges),
                    },
                    aliases=aliases(request, known, stack=NAME, project=self.project),
                )
            )
        return response

    def ReadResource(self, request: Any) -> Any:
        response = super().ReadResource(request)
        self.recording.registered.append(
            Registration(
                urn=response.urn,
                kind=request.type,
                name=request.name,
                inputs=pulumi.runtime.rpc.deserialize_properties(request.properties, True),
                parent=request.parent,
                provider=request.provider,
                dependencies=frozenset(request.dependencies),
                options={},
                aliases=frozenset(),
            )
        )
        return response

    def RegisterResourceOutputs(self, request: Any) -> Any:
        self.recording.completed[request.urn] = pulumi.runtime.rpc.deserialize_properties(request.outputs, True)
        return super().RegisterResourceOutputs(request)
