"""The names under which the engine would look for a resource in an older state.

As `generateAliases` in pulumi's pkg/resource/deploy/step_generator.go: a resource's own aliases, and those that follow
from its parent's. Children of a component that was renamed with an alias need none of their own.
"""

from collections.abc import Iterator, Mapping
from typing import Any

STACK = "pulumi:pulumi:Stack"


def urn(parent: str, kind: str, name: str, *, stack: str, project: str) -> str:
    """As the engine writes it: with the whole chain of types above (MockMonitor keeps only the last one)."""
    above = _chain(parent) if parent else STACK
    chain = kind if above == STACK else f"{above}${kind}"
    return f"urn:pulumi:{stack}::{project}::{chain}::{name}"


def aliases(request: Any, known: Mapping[str, frozenset[str]], *, stack: str, project: str) -> frozenset[str]:
    """The older URNs of a registration.

    Args:
        request: the RegisterResourceRequest.
        known: those of every resource that is registered already.
        stack: the stack's name.
        project: the project's name.
    """
    own = [_resolved(alias, request, stack, project) for alias in request.aliases]
    return frozenset([*own, *_inherited(request, own, known, stack, project)])


def _resolved(alias: Any, request: Any, stack: str, project: str) -> str:
    if alias.WhichOneof("alias") == "urn":
        return str(alias.urn)
    spec = alias.spec
    parent = "" if spec.noParent else spec.parentUrn or request.parent
    return urn(
        parent,
        spec.type or request.type,
        spec.name or request.name,
        stack=spec.stack or stack,
        project=spec.project or project,
    )


def _inherited(
    request: Any, own: list[str], known: Mapping[str, frozenset[str]], stack: str, project: str
) -> Iterator[str]:
    for old_parent in known.get(request.parent, frozenset()):
        kinds = [(request.type, request.name), *((_chain(old).rpartition("$")[2], _name(old)) for old in own)]
        for kind, name in kinds:
            # a child is called after its parent (`network-private`): so it was when the parent had another name
            now, before = _name(request.parent), _name(old_parent)
            old_name = before + name.removeprefix(now) if name.startswith(now) else name
            yield urn(old_parent, kind, old_name, stack=stack, project=project)


def _chain(urn: str) -> str:
    return urn.split("::")[2]


def _name(urn: str) -> str:
    return urn.split("::", 3)[3]
