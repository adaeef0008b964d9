"""Rules over resources as a test writes them: `found` gives what a rule says, `unchecked` what it cannot see yet."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from guardrails.pack import RULES
from guardrails.rule import Resource, Rule, Unchecked, Violation, judged
from guardrails.value import Value

UNKNOWN = "04da6b54-80e4-46f7-96ec-b56ff0331ba9"
BY_ID: Mapping[str, Rule[Any]] = {rule.id: rule for rule in RULES}


def resource(
    kind: str,
    props: Any,
    name: str = "it",
    *,
    needs: Sequence[Resource] = (),
    sources: Mapping[str, Sequence[Resource]] | None = None,
    parent: Resource | None = None,
    protect: bool = False,
    stack: str = "prod",
) -> Resource:
    urn = f"urn:pulumi:{stack}::project::{kind}::{name}"
    return Resource(
        kind=kind,
        name=name,
        urn=urn,
        props=Value(props),
        needs=needs,
        sources=sources or {},
        parent=parent,
        protect=protect,
    )


def judge(rule: str, *resources: Resource, config: Mapping[str, Any] | None = None) -> list[Violation | Unchecked]:
    its = BY_ID[rule]
    return list(judged(its, resources, config, resources if its.over == "stack" else ()))


def found(rule: str, *resources: Resource, config: Mapping[str, Any] | None = None) -> list[str]:
    return [it.says for it in judge(rule, *resources, config=config) if isinstance(it, Violation)]


def unchecked(rule: str, *resources: Resource, config: Mapping[str, Any] | None = None) -> list[str]:
    return [it.path for it in judge(rule, *resources, config=config) if isinstance(it, Unchecked)]
