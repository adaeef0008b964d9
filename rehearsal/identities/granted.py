"""Which statement of which document lets something happen, and which one stops it for certain."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from rehearsal.identities.documents import Document, Statement
from rehearsal.identities.patterns import covers

_PRINCIPAL = "aws:principalarn"


def granting(documents: Iterable[Document], action: str, arn: str) -> list[str]:
    """Statements of an identity's own policies that allow some request of this kind, as `document: Sid`.

    Conditions are left aside, for they only narrow: what is granted under one is granted.
    """
    return [
        label(document, it)
        for document in documents
        for it in document.statements
        if it.effect == "Allow" and it.touches(action, arn)
    ]


def granted_to_others(document: Document, action: str, arn: str) -> list[tuple[str, str]]:
    """Principals that a resource's policy lets in, each with the statement."""
    return [
        (principal, label(document, it))
        for it in document.statements
        if it.effect == "Allow" and it.touches(action, arn)
        for principal in [*_named(it.principals), *(["*"] if it.not_principals else [])]
    ]


def stopping(documents: Iterable[Document], action: str, arn: str, role: str) -> list[str]:
    """Statements of resources' policies that refuse every request of this kind by the role, whatever its rights.

    The one condition that counts is that the role's ARN is not like those listed; any other may not hold.
    """
    return [
        label(document, it)
        for document in documents
        for it in document.statements
        if it.effect == "Deny" and it.meets_all(action, arn) and _of_everybody(it) and _hits(it.conditions, role)
    ]


def exempted(document: Document, action: str, arn: str) -> list[tuple[str, str]]:
    """ARNs that a refusal of all others leaves out, each with the statement."""
    return [
        (spared, label(document, it))
        for it in document.statements
        if it.effect == "Deny" and it.meets_all(action, arn)
        for spared in _spared(it.conditions)
    ]


def label(document: Document, statement: Statement) -> str:
    """How a statement is named."""
    return f"{document.name}: {statement.sid or 'a statement without Sid'}"


def _named(principals: Mapping[str, tuple[str, ...]]) -> list[str]:
    # services are AWS itself, and act for somebody whose rights count
    return [it for kind, them in principals.items() if kind != "Service" for it in them]


def _of_everybody(statement: Statement) -> bool:
    return "*" in _named(statement.principals)


def _hits(conditions: Mapping[str, Mapping[str, tuple[str, ...]]], role: str) -> bool:
    if not conditions:
        return True
    lone = set(conditions) <= {"ArnNotLike", "ArnNotEquals"} and all(
        {key.lower() for key in keys} == {_PRINCIPAL} for keys in conditions.values()
    )
    return lone and not any(covers(it, role) for it in _spared(conditions))


def _spared(conditions: Mapping[str, Mapping[str, tuple[str, ...]]]) -> list[str]:
    return [
        it
        for operator in ("ArnNotLike", "ArnNotEquals")
        for key, values in conditions.get(operator, {}).items()
        if key.lower() == _PRINCIPAL
        for it in values
    ]
