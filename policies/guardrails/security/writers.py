"""Who may write to S3: start-up caches are code, and weights are what everybody is served."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase

from guardrails.accounts import is_for, roles_of
from guardrails.documents import IDENTITY, Statement, inline, matches, statements
from guardrails.exceptions import excepted
from guardrails.pods import SERVING, WORKLOADS, Pod, gpu_pods, pods
from guardrails.reading import Gathering, below, each
from guardrails.rule import Around, Resource, Rule
from guardrails.security.identities import ATTACHMENT, ROLE_POLICY
from guardrails.value import Value

_WRITES = ("s3:PutObject", "s3:PutObjectAcl", "s3:DeleteObject", "s3:DeleteObjectVersion", "s3:ReplicateObject")
_WRITERS = frozenset({"AdministratorAccess", "PowerUserAccess", "AmazonS3FullAccess"})
"""Policies of AWS that allow to write everywhere."""
_OBJECTS = re.compile(r"arn:[^:]*:s3:(?:::([^/]+)|[^:]*:[^:]*:accesspoint/([^/]+)/object)/(.*)")
_WILD = re.compile(r"[*?]")


def rights_of(role: Resource, stack: Sequence[Resource], gathering: Gathering) -> Iterator[tuple[Resource, Statement]]:
    """Yield the statements of a role's own and attached documents, with what holds them."""
    yield from ((role, it) for it in inline(role))
    for it in stack:
        with gathering.reading(it):
            if it.kind == ROLE_POLICY and is_for(it, role):
                yield from ((it, statement) for statement in statements(it))
            elif it.kind == ATTACHMENT and is_for(it, role):
                for document in it.sources.get("policyArn", ()):
                    if document.kind in IDENTITY:
                        yield from ((document, statement) for statement in statements(document))


def managed_of(role: Resource, stack: Sequence[Resource], gathering: Gathering) -> Iterator[str]:
    """Yield the names of AWS's own policies that a role has and that allow to write everywhere."""
    held: list[tuple[Resource, Value]] = [(role, it) for it in each(below(role.props, "managedPolicyArns"))]
    for it in stack:
        with gathering.reading(it):
            # a policy of the stack is looked at as a document
            if it.kind == ATTACHMENT and is_for(it, role) and not it.sources.get("policyArn"):
                held.append((it, it.props["policyArn"]))
    for holder, arn in held:
        with gathering.reading(holder):
            name = arn.text().rpartition("/")[2]
            if ":aws:policy/" in arn.text() and name in _WRITERS:
                yield name


def _writes(statement: Statement, around: Around) -> tuple[str, list[str]]:
    """Return how a statement allows to write objects, and on which patterns; no patterns: it does not."""
    if not statement.allows or not any(statement.covers(it) for it in _WRITES):
        return "", []
    if statement.spared is None:
        how = ", ".join(it for it in statement.actions if any(matches(write, [it]) for write in _WRITES))
    else:
        how = f"all but {', '.join(statement.spared)}"
    return how, [it for it in statement.resources or ["*"] if _holds_objects(it) and not excepted(it, around)]


def _holds_objects(pattern: str) -> bool:
    """Whether objects of S3 can be meant: a bucket's own name is none, nor is what belongs to another service."""
    parts = pattern.split(":", 5)
    of_s3 = len(parts) < 3 or fnmatchcase("s3", parts[2])
    return of_s3 and bool("/" in pattern or _WILD.search(pattern))


def _server_writes(pod: Pod, around: Around) -> Iterator[str]:
    gathering = Gathering()
    for role in roles_of(pod, around.stack, gathering):
        for holder, statement in rights_of(role, around.stack, gathering):
            with gathering.reading(holder):
                how, on = _writes(statement, around)
                if on:
                    yield (
                        f"its identity {role.name} may write {', '.join(on)} ({holder.name}, {statement.title}: {how});"
                        " let another identity write"
                    )
        for name in managed_of(role, around.stack, gathering):
            yield f"its identity {role.name} may write everywhere in S3 ({name}); let another identity write"
    yield from gathering.ended()


def _publisher(pod: Pod, around: Around) -> Iterator[str]:
    least = int(around.config["folders"])
    wanted = f"name {least} {'folder' if least == 1 else 'folders'} at least"
    gathering = Gathering()
    for role in roles_of(pod, around.stack, gathering):
        for holder, statement in rights_of(role, around.stack, gathering):
            with gathering.reading(holder):
                for pattern in _writes(statement, around)[1]:
                    if _folders(pattern, least) < least:
                        where = f"{holder.name}, {statement.title}"
                        yield f"its identity {role.name} may write {pattern} ({where}); {wanted}"
        for name in managed_of(role, around.stack, gathering):
            yield f"its identity {role.name} may write everywhere in S3 ({name}); {wanted}"
    yield from gathering.ended()


def _folders(pattern: str, enough: int) -> int:
    """Return how many folders a pattern names before its first wildcard; one object alone is narrow enough."""
    found = _OBJECTS.fullmatch(re.sub(r"\$\{[^}]*\}", "x", pattern))
    if not found or _WILD.search(found[1] or found[2]):
        return 0
    if not _WILD.search(found[3]):
        return enough
    return _WILD.split(found[3])[0].count("/")


RULES = (
    Rule(
        id="server-writes",
        says="The identity of a server with a GPU writes nothing to S3.",
        why="Start-up caches are code: one server that is taken over then runs code in all others.",
        source="aws.md 35, vllm.md 10",
        kinds=SERVING,
        parts=gpu_pods,
        check=_server_writes,
        over="stack",
        config={"exceptions": []},
    ),
    Rule(
        id="publisher-scope",
        says="What publishes to S3 writes below the folders of its own.",
        why="A job that may write everywhere replaces another server's cache or weights.",
        source="aws.md 35, vllm.md 10",
        kinds=WORKLOADS - SERVING,
        parts=pods,
        check=_publisher,
        over="stack",
        config={"folders": 1, "exceptions": []},
    ),
)
