"""Service accounts of pods and the roles that they get, also where a preview knows neither name yet."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from guardrails.pods import Pod
from guardrails.reading import Gathering
from guardrails.rule import Resource
from guardrails.value import NotKnownError, Value

ROLE = "aws:iam/role:Role"
ASSOCIATION = "aws:eks/podIdentityAssociation:PodIdentityAssociation"
SERVICE_ACCOUNT = "kubernetes:core/v1:ServiceAccount"
NAMESPACE = "kubernetes:core/v1:Namespace"
IRSA = "eks.amazonaws.com/role-arn"

Account = tuple[str, str]
"""Namespace and name. A name that the engine is still to give is the URN of what will have it."""


def account_of(pod: Pod) -> Account:
    """Return the account of a pod.

    A ServiceAccount's name is not known before it is made, but what it is made of is: where a value is not known and
    comes from exactly one, that one's own metadata is taken.

    Raises:
        NotKnownError: the program does not make it, or it makes several.
    """
    made = _only(pod.of, "spec", SERVICE_ACCOUNT)
    # the short one is its old name
    name = pod.spec["serviceAccountName"]
    name = pod.spec["serviceAccount"] if name.is_missing else name
    return _namespace(pod.of, made), _stated(name, made) or "default"


def account_of_association(association: Resource) -> Account:
    """Return the account that an association of Pod Identity is for.

    Raises:
        NotKnownError: as `account_of`.
    """
    made = _only(association, "serviceAccount", SERVICE_ACCOUNT)
    name = _stated(association.props["serviceAccount"], made)
    namespace = association.props["namespace"]
    try:
        return namespace.text(), name
    except NotKnownError:
        if made:
            return _namespace(made, None), name
        return _stated(namespace, _only(association, "namespace", NAMESPACE)), name


def roles_of(pod: Pod, stack: Sequence[Resource], gathering: Gathering) -> Iterator[Resource]:
    """Yield the roles of a stack that a pod gets, by Pod Identity or by its account's annotation (IRSA).

    Args:
        pod: of the stack.
        stack: all resources.
        gathering: takes what cannot be read of the others.

    Raises:
        NotKnownError: whose account it is.
    """
    account = account_of(pod)
    for it in stack:
        with gathering.reading(it):
            if it.kind == ASSOCIATION and account_of_association(it) == account:
                yield from _named(it, "roleArn", it.props["roleArn"], stack)
                # the first takes it, and what that one may is what the pod may
                if not it.props["targetRoleArn"].is_missing:
                    yield from _named(it, "targetRoleArn", it.props["targetRoleArn"], stack)
            elif it.kind == SERVICE_ACCOUNT and _account(it) == account:
                arn = it.props.at("metadata", "annotations", IRSA)
                if not arn.is_missing:
                    yield from _named(it, "metadata", arn, stack)


def is_for(it: Resource, role: Resource, key: str = "role") -> bool:
    """Return whether a resource names a role, by what its value comes from or by the name as it is."""
    sources = [other for other in it.sources.get(key, ()) if other.kind == ROLE]
    if sources:
        return role in sources
    name = role.props["name"].raw
    return isinstance(name, str) and bool(name) and it.props[key].text() == name


def _account(made: Resource) -> Account:
    return _namespace(made, None), _own_name(made)


def _named(it: Resource, key: str, arn: Value, stack: Sequence[Resource]) -> Iterator[Resource]:
    if roles := [other for other in it.sources.get(key, ()) if other.kind == ROLE]:
        yield from roles
        return
    name = arn.text().rpartition("/")[2]
    yield from (role for role in stack if role.kind == ROLE and name and role.props["name"].raw == name)


def _namespace(resource: Resource, made: Resource | None) -> str:
    """Return the namespace of an object; that of its account is its own."""
    try:
        return resource.props.at("metadata", "namespace").text() or "default"
    except NotKnownError:
        if made:
            return _namespace(made, None)
        if namespace := _only(resource, "metadata", NAMESPACE):
            return _own_name(namespace)
        raise


def _stated(value: Value, made: Resource | None) -> str:
    try:
        return value.text()
    except NotKnownError:
        if made:
            return _own_name(made)
        raise


def _own_name(made: Resource) -> str:
    return made.props.at("metadata", "name").text() or made.urn


def _only(resource: Resource, key: str, kind: str) -> Resource | None:
    found = [it for it in resource.sources.get(key, ()) if it.kind == kind]
    return found[0] if len(found) == 1 else None
