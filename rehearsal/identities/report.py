"""The identities of a stack as Markdown: one section for each role, in the words of its documents."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from rehearsal.identities.documents import Document, Statement
from rehearsal.identities.extract import OF_RESOURCES, Identities, Resource, Role, extract
from rehearsal.identities.reach import Edge, blind, reach
from rehearsal.identities.sizes import Size, of_role, sizes, too_big
from rehearsal.identities.workloads import Workload, workloads

_DEFAULTS = {
    "key": "AWS's default policy: the account's IAM decides",
    "endpoint": "AWS's default policy: everything through the endpoint",
    "bucket": "none of this stack (an existing bucket has its owner's)",
}

_NAMES = ("characters of name", "characters of path")

_WORDS = {
    "StringEquals": "is",
    "StringLike": "like",
    "ArnNotLike": "not like",
    "Bool": "is",
    "Null": "is absent:",
    "ForAllValues:StringEquals": "all out of",
    "StringEqualsIfExists": "if there is",
}
"""Operators of conditions; others stand as they are."""


def report(stack: str, resources: Iterable[Resource]) -> str:
    """Everything about a stack's identities. Raises documents.DocumentError."""
    kept = list(resources)
    identities = extract(kept)
    edges = reach(identities, kept)
    made = workloads(kept)
    parts = [
        f"# Identities of {stack}",
        f"Roles: {len(identities.roles)}. Written from what an `up` in the offline cloud has made: a real stack's names"
        " end otherwise.",
        _warnings(too_big(identities), blind(identities)),
        *(section(it, identities, edges, made) for it in sorted(identities.roles.values(), key=lambda it: it.name)),
        "## Policies of resources",
        *_resource_policies(identities, {it["type"] for it in kept}),
        "## Who else gets into the cluster",
        "\n".join(_entries(identities)) or "Nobody beside the deployer that made it.",
        "## From outside",
        "Identities that this stack does not make, and what they write that its own execute:",
        "\n".join(_outside(identities, edges)) or "None.",
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def section(role: Role, identities: Identities, edges: Sequence[Edge], made: Sequence[Workload]) -> str:
    """One role."""
    given = [
        f"## {role.name}",
        f"`{role.arn}`",
        "\n".join(
            [
                *(f"- assumed by {it}" for s in role.trust.statements for it in _who(s)),
                *_used_by(role, identities, made),
                f"- policies of AWS: {', '.join(role.aws) or 'none'}",
                f"- sizes: {', '.join(_size(it) for it in of_role(role) if it.what not in _NAMES)}",
            ]
        ),
        "\n\n".join(_table(it) for it in role.documents) or "It has no policy of this stack.",
        _list(
            "It executes what is written by", [f"{it.writer}: {_how(it)}" for it in edges if it.executor == role.name]
        ),
        _list(
            "It writes what is executed by", [f"{it.executor}: {_how(it)}" for it in edges if it.writer == role.name]
        ),
    ]
    return "\n\n".join(given)


def _list(title: str, lines: Sequence[str]) -> str:
    return "\n".join([f"{title}:", *(f"- {it}" for it in lines)]) if lines else f"{title} nobody else."


def _how(edge: Edge) -> str:
    stopped = f"; stopped by {', '.join(edge.stopped_by)}" if edge.stopped_by else ""
    return f"{edge.thing} ({', '.join(edge.by)}{stopped})"


def _who(statement: Statement) -> Iterator[str]:
    session = {
        key.rpartition("/")[2]: values[0]
        for key, values in statement.conditions.get("StringEquals", {}).items()
        if key.startswith("aws:RequestTag/")
    }
    pod = "{kubernetes-namespace}/{kubernetes-service-account} of cluster {eks-cluster-name}"
    for kind, principals in statement.principals.items():
        for it in principals:
            if it == "pods.eks.amazonaws.com" and len(session) == 3:
                yield f"pods of {pod.format(**session)}, by EKS Pod Identity"
            else:
                yield f"{kind} {it}{_when(statement, ', when ')}"


def _used_by(role: Role, identities: Identities, made: Sequence[Workload]) -> Iterator[str]:
    for it in identities.associations:
        if it.role == role.name:
            users = [str(of) for of in made if of.account == (it.namespace, it.service_account)]
            account = f"{it.namespace}/{it.service_account}"
            rendered = ", ".join(users) or "none that the stack renders (an EKS add-on has such)"
            yield f"- given to pods of {account}: {rendered}"


def _size(size: Size) -> str:
    return f"{size.of.partition(', ')[2]} {size.what} {size.used:,} of {size.limit:,}".strip()


def _table(document: Document) -> str:
    rows = [
        f"| {it.sid} | {'' if it.effect == 'Allow' else '**never** '}{_acts(it)} | {_on(it)} | {_when(it)} |"
        for it in document.statements
    ]
    return "\n".join([f"{document.name}:", "", "| statement | may | on | when |", "|---|---|---|---|", *rows])


def _acts(statement: Statement) -> str:
    return _lines([*statement.actions, *(f"all but {it}" for it in statement.not_actions)])


def _on(statement: Statement) -> str:
    return _lines([*map(_short, statement.resources), *(f"all but {_short(it)}" for it in statement.not_resources)])


def _lines(them: Iterable[str]) -> str:
    # as code: a star is no emphasis
    return "<br>".join(f"`{it}`" for it in them)


def _short(arn: str) -> str:
    """An ARN without what is the same in all of them; a region of `*` is said."""
    if arn.count(":") < 5:
        return "anything" if arn == "*" else arn
    _, _, service, region, account, resource = arn.split(":", 5)
    other = [it for it in (region, account) if it == "*"]
    return (
        f"{service} {resource}"
        + (" of any account" if account == "*" and region != "*" else "")
        + (" anywhere" if len(other) == 2 else "")
    )


def _when(statement: Statement, before: str = "") -> str:
    said = [
        f"{key} {_WORDS.get(operator, operator)} {' or '.join(values)}"
        for operator, keys in statement.conditions.items()
        for key, values in keys.items()
    ]
    return before + _lines(said) if said else ""


def _resource_policies(identities: Identities, types: Collection[str]) -> Iterator[str]:
    for token, (kind, _) in OF_RESOURCES.items():
        documents = identities.resources[kind]
        if not documents and kind in _DEFAULTS and (token in types or kind == "bucket"):
            yield f"{kind}: {_DEFAULTS[kind]}."
        for document in documents:
            used = next(it for it in sizes(identities) if it.of == document.name and it.what.endswith("policy"))
            rows = [
                f"| {it.sid} | {_principals(it.principals)} | {may} {_acts(it)} | {_on(it)} | {_when(it)} |"
                for it in document.statements
                for may in ["may" if it.effect == "Allow" else "**never**"]
            ]
            yield "\n".join(
                [
                    f"{kind} {document.name}, {used.used:,} bytes of {used.limit:,}:",
                    *("", "| statement | who | what | on | when |", "|---|---|---|---|---|", *rows),
                ]
            )


def _principals(principals: Mapping[str, tuple[str, ...]]) -> str:
    return "<br>".join("everybody" if it == "*" else it for them in principals.values() for it in them)


def _entries(identities: Identities) -> Iterator[str]:
    for it in identities.entries:
        policies = [f"{name} in {', '.join(spaces) or 'the whole cluster'}" for name, spaces in it.policies.items()]
        yield f"- {it.principal} ({it.kind}): {', '.join([*policies, *it.groups]) or 'joins as a node'}"


def _outside(identities: Identities, edges: Iterable[Edge]) -> Iterator[str]:
    for it in edges:
        if it.writer not in identities.roles:
            yield f"- {it.writer} -> {it.executor}: {_how(it)}"


def _warnings(big: Sequence[Size], unseen: Sequence[str]) -> str:
    lines = [f"- too big: {it}" for it in big]
    lines += [f"- not known here, so not looked at: {it}" for it in unseen]
    return "\n".join(lines)
