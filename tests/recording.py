"""What a program under mocks asked for."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pulumi


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
    aliases: frozenset[str]
    """Every older URN under which the engine would find it, inherited ones included."""

    @property
    def label(self) -> str:
        """Kind and name for people: `Subnet network-private-us-west-2a`."""
        kind = "Provider" if self.kind.startswith("pulumi:providers:") else self.kind.rpartition(":")[2]
        return f"{kind} {self.name}"


@dataclass
class Recording:
    """Everything that a program registered and exported."""

    registered: list[Registration] = field(default_factory=list)
    outputs: dict[str, Any] = field(default_factory=dict)
    completed: dict[str, dict[str, Any]] = field(default_factory=dict)
    """What each component registered as its outputs, by URN."""

    def maybe(self, kind: type | str) -> list[Registration]:
        token = kind if isinstance(kind, str) else pulumi.get_type_token(kind)
        return [r for r in self.registered if r.kind == token]

    def all(self, kind: type | str) -> list[Registration]:
        """At least one: a loop over nothing would prove nothing (TST-01). Where there may be none: `maybe`."""
        found = self.maybe(kind)
        assert found, f"none of {kind}"
        return found

    def one(self, kind: type | str, name: str | None = None) -> Registration:
        found = [r for r in self.maybe(kind) if name in (None, r.name)]
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
