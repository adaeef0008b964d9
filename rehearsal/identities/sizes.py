"""What is too big for AWS. It says so when the stack is half made; here it is said before.

Sources: "IAM and AWS STS quotas" of the IAM user guide (white space is not counted), "Bucket policies" of the S3
user guide, "Amazon SQS policy quotas", "KMS resource quotas", "Amazon ECR service quotas", "AWS PrivateLink quotas",
and for names the service's API model.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from rehearsal.identities.extract import Identities, Role

MANAGED, INLINE, TRUST = 6144, 10240, 2048
"""Characters without white space: of one managed policy, of all inline policies of a role, of a trust policy (default
quota)."""

ATTACHED = 10
"""Managed policies of a role (default quota)."""

ROLE_NAME, ROLE_PATH = 64, 512

OF_RESOURCES = {
    "bucket": 20 * 1024,
    "queue": 8192,
    "key": 32 * 1024,
    "endpoint": 20480,
    "repository": 10240,
    "registry": 10240,
    "template": 10240,
}
"""Bytes of the policy of a resource, by kind, white space counted."""


@dataclass(frozen=True, kw_only=True)
class Size:
    """One sum beside its limit."""

    of: str
    what: str
    used: int
    limit: int

    def __str__(self) -> str:
        """As a mistake is told."""
        return f"{self.of}: {self.what}: {self.used} > {self.limit}"


def characters(text: str) -> int:
    """The length of a policy as IAM counts it."""
    return len("".join(text.split()))


def of_role(role: Role) -> Iterator[Size]:
    """Every sum of a role, whether it fits or not."""
    inline = [characters(it.text) for it in role.inline]
    path = role.arn.partition(":role")[2].removesuffix(role.physical)
    yield Size(of=role.name, what="characters of name", used=len(role.physical), limit=ROLE_NAME)
    yield Size(of=role.name, what="characters of path", used=len(path), limit=ROLE_PATH)
    yield Size(of=role.name, what="characters of trust policy", used=characters(role.trust.text), limit=TRUST)
    yield Size(
        of=role.name,
        what=f"characters of inline policies ({' + '.join(map(str, inline)) or 'none'})",
        used=sum(inline),
        limit=INLINE,
    )
    for it in role.managed:
        yield Size(of=f"{role.name}, {it.name}", what="characters", used=characters(it.text), limit=MANAGED)
    yield Size(of=role.name, what="managed policies", used=len(role.managed) + len(role.aws), limit=ATTACHED)


def sizes(identities: Identities) -> Iterator[Size]:
    """Every sum of a stack, whether it fits or not."""
    for role in identities.roles.values():
        yield from of_role(role)
    for kind, documents in identities.resources.items():
        for it in documents:
            yield Size(of=it.name, what=f"bytes of {kind} policy", used=len(it.text.encode()), limit=OF_RESOURCES[kind])


def too_big(identities: Identities) -> list[Size]:
    """What AWS would refuse."""
    return [it for it in sizes(identities) if it.used > it.limit]
