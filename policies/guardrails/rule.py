"""What a rule is: what it looks at, what it says, why, and how strictly."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, Literal, TypeVar

from guardrails.value import MalformedError, NotKnownError, Value

Level = Literal["mandatory", "advisory"]
Config = Mapping[str, Any]
"""Of one rule: what the user gave, over the rule's own values."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Resource:
    """A resource by its inputs, as its provider has checked them."""

    kind: str
    """Type token."""
    name: str
    urn: str
    props: Value
    protect: bool = False
    parent: Resource | None = None
    needs: Sequence[Resource] = ()
    """What must exist first, by data or by `depends_on`. Known to rules over a stack alone."""
    sources: Mapping[str, Sequence[Resource]] = field(default_factory=dict)
    """Property to the resources that its value comes from, also where the value is not known."""

    @property
    def stack(self) -> str:
        """The name of its stack."""
        return self.urn.split(":")[2] if self.urn.count(":") > 2 else ""


Part = TypeVar("Part")


@dataclass(frozen=True, kw_only=True)
class Around:
    """What a check may look at beside its part."""

    resource: Resource
    """The part is of it."""
    stack: Sequence[Resource]
    """All resources; empty for a rule over one resource."""
    config: Config

    def of(self, *kinds: str) -> list[Resource]:
        """Return the stack's resources of some kinds."""
        return [it for it in self.stack if it.kind in kinds]


@dataclass(frozen=True, kw_only=True)
class Rule(Generic[Part]):
    """One rule. It looks at each part by itself: what is unknown of one hides nothing of the next."""

    id: str
    """kebab-case; the name under which it is configured."""
    says: str
    """What must hold, one sentence."""
    why: str
    """What happens else, one sentence."""
    source: str
    """Where that is from: documentation, an issue's number, a measurement."""
    kinds: frozenset[str]
    """Type tokens of the resources that it looks at."""
    parts: Callable[[Resource], Iterator[Part]]
    """What it looks at in each."""
    check: Callable[[Part, Around], Iterator[str]]
    """Yields a sentence for each fault of a part. It never quotes a value that may be secret."""
    over: Literal["resource", "stack"] = "resource"
    """`stack`: it looks at others too, so in `up` it speaks in the end. `resource`: before the resource is made."""
    level: Level = "mandatory"
    config: Mapping[str, Any] = field(default_factory=dict)
    """Its keys, with the values that hold where the user gives none."""


@dataclass(frozen=True, kw_only=True)
class Violation:
    """What a rule has against a resource."""

    rule: str
    urn: str
    says: str


@dataclass(frozen=True, kw_only=True)
class Unchecked:
    """What a rule could not look at yet."""

    rule: str
    urn: str
    path: str


Finding = Violation | Unchecked


def whole(resource: Resource) -> Iterator[Value]:
    """Yield a resource's properties, as the one part of it."""
    yield resource.props


def judged(
    rule: Rule[Any], resources: Sequence[Resource], config: Config | None = None, stack: Sequence[Resource] = ()
) -> Iterator[Finding]:
    """Yield what a rule finds in some resources, and what it cannot check before `up`.

    A value of a wrong type is a violation: it was not checked, and never will be.

    Args:
        rule: the rule.
        resources: are looked at where they are of its kinds.
        config: what the user gave for this rule.
        stack: all resources, for a rule over the stack.
    """
    given = {**rule.config, **(config or {})}
    for resource in resources:
        if resource.kind in rule.kinds:
            yield from _of(rule, Around(resource=resource, stack=stack, config=given))


def _of(rule: Rule[Any], around: Around) -> Iterator[Finding]:
    urn = around.resource.urn
    try:
        for part in rule.parts(around.resource):
            yield from _guarded(rule, part, around)
    except NotKnownError as unknown:
        yield Unchecked(rule=rule.id, urn=urn, path=str(unknown))
    except MalformedError as fault:
        yield Violation(rule=rule.id, urn=urn, says=str(fault))


def _guarded(rule: Rule[Any], part: Any, around: Around) -> Iterator[Finding]:
    urn = around.resource.urn
    try:
        for sentence in rule.check(part, around):
            yield Violation(rule=rule.id, urn=urn, says=sentence)
    except NotKnownError as unknown:
        yield Unchecked(rule=rule.id, urn=urn, path=str(unknown))
    except MalformedError as fault:
        yield Violation(rule=rule.id, urn=urn, says=str(fault))
