"""IAM documents: statements of every policy that a resource carries, given as text or as a mapping."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

from guardrails.reading import below, each, unreadable
from guardrails.rule import Resource
from guardrails.value import MalformedError, NotKnownError, Value

_FIELDS = {
    "aws:iam/policy:Policy": "policy",
    "aws:iam/rolePolicy:RolePolicy": "policy",
    "aws:iam/userPolicy:UserPolicy": "policy",
    "aws:iam/groupPolicy:GroupPolicy": "policy",
    "aws:iam/role:Role": "assumeRolePolicy",
    "aws:s3/bucketPolicy:BucketPolicy": "policy",
    "aws:s3/bucketV2:BucketV2": "policy",
    "aws:s3/bucket:Bucket": "policy",
    "aws:s3/accessPoint:AccessPoint": "policy",
    "aws:sns/topic:Topic": "policy",
    "aws:sns/topicPolicy:TopicPolicy": "policy",
    "aws:sqs/queuePolicy:QueuePolicy": "policy",
    "aws:sqs/queue:Queue": "policy",
    "aws:ecr/repositoryPolicy:RepositoryPolicy": "policy",
    "aws:ecr/registryPolicy:RegistryPolicy": "policy",
    "aws:ecr/repositoryCreationTemplate:RepositoryCreationTemplate": "repositoryPolicy",
    "aws:kms/key:Key": "policy",
    "aws:kms/keyPolicy:KeyPolicy": "policy",
    "aws:secretsmanager/secret:Secret": "policy",
    "aws:secretsmanager/secretPolicy:SecretPolicy": "policy",
    "aws:ec2/vpcEndpoint:VpcEndpoint": "policy",
    "aws:ec2/vpcEndpointPolicy:VpcEndpointPolicy": "policy",
}
IDENTITY = frozenset(it for it in _FIELDS if it.startswith("aws:iam/") and it != "aws:iam/role:Role")
"""Type tokens of documents that say what an identity may do."""
OF_RESOURCES = frozenset(_FIELDS) - IDENTITY
"""Type tokens of documents that say who may do something to what carries them, trust of a role among them."""
ALL = IDENTITY | OF_RESOURCES


OF_ENDPOINTS = frozenset({"aws:ec2/vpcEndpoint:VpcEndpoint", "aws:ec2/vpcEndpointPolicy:VpcEndpointPolicy"})
"""Type tokens of documents that give no right: they only take from what others give."""


@dataclass(frozen=True)
class Statement:
    """A statement of an IAM document."""

    value: Value
    place: int
    within: str = ""
    """Which document, where its resource carries several."""

    @property
    def title(self) -> str:
        """For messages."""
        sid = f"statement {self.value['Sid'].text() or self.place}"
        return f"{self.within}, {sid}" if self.within else sid

    @property
    def allows(self) -> bool:
        """Whether it allows; else it denies.

        Raises:
            MalformedError: it says neither.
        """
        effect = self.value["Effect"]
        if (said := effect.text()) not in {"Allow", "Deny"}:
            raise MalformedError(f"{effect.path}: expected Allow or Deny, found {said!r}")
        return said == "Allow"

    @property
    def actions(self) -> list[str]:
        """What it allows or denies; empty where it names what it does not."""
        return [it.text() for it in self.value["Action"].one_or_more()]

    @property
    def spared(self) -> list[str] | None:
        """What it does not allow or deny, where it names that: all else it does. None: it names what it does."""
        spared = self.value["NotAction"]
        return None if spared.is_missing else [it.text() for it in spared.one_or_more()]

    def covers(self, action: str) -> bool:
        """Return whether an action is among those that it is about."""
        if (spared := self.spared) is not None:
            return not matches(action, spared)
        return matches(action, self.actions)

    @property
    def resources(self) -> list[str]:
        """On what."""
        return [it.text() for it in self.value["Resource"].one_or_more()]

    @property
    def principals(self) -> list[str]:
        """Who; `*` is everybody. Empty: it names nobody, as the documents of identities do."""
        principal = self.value["Principal"]
        if principal.is_missing:
            return []
        if isinstance(principal.known(), str):
            return [principal.text()]
        return [it.text() for _, kind in principal.fields() for it in kind.one_or_more()]

    @property
    def conditions(self) -> dict[tuple[str, str], list[str]]:
        """Operator and key to values. IAM takes texts, numbers and truth values, one or a list."""
        return {
            (operator, key): [str(it.known()) for it in _values(values)]
            for operator, keys in self.value["Condition"].fields()
            for key, values in keys.fields()
        }


def matches(action: str, patterns: Sequence[str]) -> bool:
    """Return whether one of some patterns means an action. IAM does not tell upper case from lower."""
    return any(fnmatchcase(action.lower(), it.lower()) for it in patterns)


def statements(resource: Resource) -> Iterator[Statement]:
    """Yield the statements of what a resource carries, also of a role's inline policies.

    A document that cannot be read is one statement that says so when it is read.
    """
    if resource.kind in _FIELDS:
        yield from _of(below(resource.props, _FIELDS[resource.kind]))
        yield from inline(resource)


def trust(role: Resource) -> Iterator[Statement]:
    """Yield the statements that say who may take a role."""
    yield from _of(below(role.props, "assumeRolePolicy"))


def inline(role: Resource) -> Iterator[Statement]:
    """Yield the statements of the policies that stand in a role itself; none for another kind."""
    if role.kind == "aws:iam/role:Role":
        for place, it in enumerate(each(below(role.props, "inlinePolicies"))):
            try:
                name = it["name"].text() or str(place)
            except (NotKnownError, MalformedError):
                name = str(place)
            yield from _of(below(it, "policy"), f"inline policy {name}")


def _of(field: Value, within: str = "") -> Iterator[Statement]:
    try:
        found = field.document()["Statement"]
        # one statement may stand without its list
        listed = [found] if isinstance(found.known(), dict) else list(found.items())
    except (NotKnownError, MalformedError) as fault:
        listed = [unreadable(field, fault)]
    for place, it in enumerate(listed):
        yield Statement(it, place, within)


def _values(of: Value) -> Iterator[Value]:
    if isinstance(of.known(), (bool, int, float)):
        yield of
    else:
        yield from of.one_or_more()
