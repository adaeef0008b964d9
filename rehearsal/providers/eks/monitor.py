"""Registering the children of a component with the engine."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field

import grpc
from pulumi.runtime.proto import provider_pb2, resource_pb2, resource_pb2_grpc

from rehearsal.providers.values import Properties, from_struct, to_struct


@dataclass(frozen=True, kw_only=True)
class Registered:
    """A resource as the engine knows it; in a preview `id` is empty and outputs are partial."""

    urn: str
    id: str
    outputs: Properties


@dataclass(frozen=True, kw_only=True)
class Child:
    """A resource to register. `sources` maps an input to the URNs that its value came from."""

    type: str
    name: str
    parent: str
    inputs: Properties = field(default_factory=dict)
    sources: Mapping[str, Iterable[str]] = field(default_factory=dict)
    after: tuple[str, ...] = ()
    """URNs that must exist first without giving a value."""
    ignore_changes: tuple[str, ...] = ()
    version: str = ""


class Monitor:
    """The engine's resource monitor, on behalf of the component in `request`."""

    def __init__(
        self,
        request: provider_pb2.ConstructRequest,
        stub: resource_pb2_grpc.ResourceMonitorStub,
    ) -> None:
        self._request = request
        self._stub = stub

    @classmethod
    @contextmanager
    def connected(cls, request: provider_pb2.ConstructRequest) -> Iterator[Monitor]:
        """Open the connection that the engine offers for this construct call."""
        with grpc.insecure_channel(request.monitorEndpoint) as channel:
            yield cls(request, resource_pb2_grpc.ResourceMonitorStub(channel))

    def component(self, inputs: Properties) -> Registered:
        """Register the component itself, with everything the program asked of it."""
        asked = self._request
        request = resource_pb2.RegisterResourceRequest(
            type=asked.type,
            name=asked.name,
            parent=asked.parent,
            custom=False,
            object=to_struct(inputs),
            dependencies=asked.dependencies,
            providers=asked.providers,
            aliases=asked.aliases,
            deletedWith=asked.deletedWith,
            acceptSecrets=True,
            acceptResources=True,
            supportsPartialValues=True,
        )
        if asked.HasField("protect"):
            request.protect = asked.protect
        if asked.HasField("retainOnDelete"):
            request.retainOnDelete = asked.retainOnDelete
        return self._register(request)

    def inner_component(self, child: Child) -> Registered:
        """Register a component below the component."""
        return self._register(self._message(child, custom=False))

    def aws(self, child: Child) -> Registered:
        """Register an AWS resource on the `aws` provider that the component was given."""
        message = self._message(child, custom=True)
        message.provider = self._request.providers.get("aws", "")
        return self._register(message)

    def provider(self, child: Child) -> Registered:
        """Register a provider resource."""
        return self._register(self._message(child, custom=True))

    def partition(self) -> str:
        """The partition of the `aws` provider, by the look-up that the real component makes."""
        request = resource_pb2.ResourceInvokeRequest(
            tok="aws:index/getPartition:getPartition", provider=self._request.providers.get("aws", "")
        )
        answer = from_struct(getattr(self._stub.Invoke(request), "return"))
        return str(answer["partition"])

    def outputs(self, urn: str, outputs: Properties) -> None:
        """Record a component's outputs."""
        self._stub.RegisterResourceOutputs(
            resource_pb2.RegisterResourceOutputsRequest(urn=urn, outputs=to_struct(outputs))
        )

    def _message(self, child: Child, *, custom: bool) -> resource_pb2.RegisterResourceRequest:
        sources = {key: sorted(set(urns)) for key, urns in child.sources.items()}
        dependencies = sorted({urn for urns in sources.values() for urn in urns} | {*child.after})
        message = resource_pb2.RegisterResourceRequest(
            type=child.type,
            name=child.name,
            parent=child.parent,
            custom=custom,
            object=to_struct(child.inputs),
            dependencies=dependencies,
            ignoreChanges=child.ignore_changes,
            version=child.version,
            acceptSecrets=True,
            acceptResources=True,
            supportsPartialValues=True,
        )
        for key, urns in sources.items():
            message.propertyDependencies[key].urns.extend(urns)
        # As in every SDK, children are protected when their component is.
        if self._request.HasField("protect"):
            message.protect = self._request.protect
        return message

    def _register(self, message: resource_pb2.RegisterResourceRequest) -> Registered:
        response = self._stub.RegisterResource(message)
        return Registered(urn=response.urn, id=response.id, outputs=from_struct(response.object))
