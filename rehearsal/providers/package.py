"""What one offline provider knows, as plain data and functions; `servicer.py` speaks gRPC for it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from rehearsal.providers.naming import AutoName, Autonaming
from rehearsal.providers.values import Properties

if TYPE_CHECKING:
    from pulumi.runtime.proto import provider_pb2


@dataclass(frozen=True, kw_only=True)
class Instance:
    """One configured provider resource of the program (`aws.Provider("eu", region=...)`)."""

    urn: str
    config: Properties
    """The provider's arguments, secrets revealed, nested arguments decoded from their JSON."""


@dataclass(frozen=True, kw_only=True)
class Proposal:
    """A resource as the program wants it, before the provider adds names, tags and defaults."""

    instance: Instance
    token: str
    logical: str
    olds: Properties
    """Inputs of the existing resource; empty when it is new."""
    news: Properties
    seed: bytes
    """The engine's random seed: new for each new resource, absent (empty) on an update."""
    autonaming: Autonaming | None


@dataclass(frozen=True, kw_only=True)
class Birth:
    """What a create may look at. `digits(n)` gives n hex digits, the same in every run."""

    instance: Instance
    logical: str
    inputs: Properties
    """Checked inputs, secrets revealed."""
    digits: Callable[[int], str]


@dataclass(frozen=True, kw_only=True)
class Made:
    """What a create brought into being: the physical id and the outputs beyond the inputs."""

    id: str
    outputs: Properties = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Kind:
    """One resource type: its names, tags, and what the cloud adds when it is created."""

    make: Callable[[Birth], Made]
    auto_name: AutoName | None = None
    tagged: bool = False
    unknown_inside: tuple[str, ...] = ()
    """Computed properties inside an object that the program gives, as `vpcConfig.vpcId`.

    Top-level ones need no entry: the SDK takes an absent output as unknown in a preview, but a
    property that is absent inside an object would read as None.
    """


@dataclass(frozen=True, kw_only=True)
class Package:
    """One provider: resource types, invokes, and how it checks what every type has in common."""

    name: str
    version: str
    find: Callable[[str], Kind]
    """The kind of a type token. Raises LookupError whose message names the place to add it."""
    check: Callable[[Kind, Proposal], Properties]
    """The inputs that the resource will have. Raises NameRefusedError."""
    invokes: Mapping[str, Callable[[Instance, Properties], Properties]] = field(default_factory=dict)
    construct: Callable[[provider_pb2.ConstructRequest], provider_pb2.ConstructResponse] | None = None
    """Registers a component's children and answers with its outputs; None: no components."""
