"""What one offline provider knows, as plain data and functions; `servicer.py` speaks gRPC for it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from rehearsal.providers.change.unique import Unique
from rehearsal.providers.change.verdict import Verdict
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
class Comparison:
    """An existing resource and what the program wants it to be now."""

    instance: Instance
    token: str
    logical: str
    outputs: Properties
    """What the engine remembers of it, inputs and computed values."""
    olds: Properties
    """Its inputs when it was last made or updated."""
    news: Properties
    """The inputs that it is to have, checked; unknown ones in a preview."""
    ignored: tuple[str, ...]
    """Property paths (`ignoreChanges`)."""


@dataclass(frozen=True, kw_only=True)
class Revision:
    """An update that is about to happen; secrets revealed."""

    outputs: Properties
    """Outputs before it."""
    news: Properties
    changed: frozenset[str]
    """Top-level inputs that differ."""
    preview: bool


class RefusedError(Exception):
    """The cloud refuses an update; the message says why."""


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
    unique: tuple[Unique, ...] = ()
    """What no second resource may have; none where the cloud overwrites or takes any number."""
    applied: bool = False
    """A create of what is there already changes it, field by field (server-side apply)."""
    revise: Callable[[Revision], Properties] | None = None
    """Outputs that an update changes beyond the new inputs. Raises RefusedError."""


@dataclass(frozen=True, kw_only=True)
class Package:
    """One provider: resource types, invokes, and how it checks what every type has in common."""

    name: str
    version: str
    find: Callable[[str], Kind]
    """The kind of a type token. Raises LookupError whose message names the place to add it."""
    check: Callable[[Kind, Proposal], Properties]
    """The inputs that the resource will have. Raises NameRefusedError."""
    diff: Callable[[Kind, Comparison], Verdict]
    """What a change of the inputs means for the resource."""
    diff_config: Callable[[Properties, Properties], Verdict]
    """What a change of the provider's own arguments (old, new) means; to replace it replaces all it owns."""
    invokes: Mapping[str, Callable[[Instance, Properties], Properties]] = field(default_factory=dict)
    construct: Callable[[provider_pb2.ConstructRequest], provider_pb2.ConstructResponse] | None = None
    """Registers a component's children and answers with its outputs; None: no components."""
