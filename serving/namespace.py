"""The namespace that all servers of a stack share."""

from dataclasses import dataclass

import pulumi
from pulumi_kubernetes.core.v1 import Namespace


@dataclass(frozen=True, kw_only=True)
class ServingNamespaceArgs:
    """Plain values."""

    namespace: str


class ServingNamespace(pulumi.ComponentResource):
    """What every object of a server depends on."""

    name: pulumi.Output[str]

    def __init__(self, name: str, args: ServingNamespaceArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("vllm-eks:serving:ServingNamespace", name, None, opts)
        namespace = Namespace(name, metadata={"name": args.namespace}, opts=pulumi.ResourceOptions(parent=self))
        self.name = namespace.metadata.name
        self.register_outputs({"name": self.name})
