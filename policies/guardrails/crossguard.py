"""Rules as policies of Pulumi's SDK."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from pulumi_policy import (
    EnforcementLevel,
    Policy,
    PolicyConfigSchema,
    PolicyResource,
    ReportViolation,
    ResourceValidationArgs,
    ResourceValidationPolicy,
    StackValidationArgs,
    StackValidationPolicy,
)
from pulumi_policy.proxy import UNKNOWN_STRING_VALUE, UnknownValueError

from guardrails.rule import Finding, Resource, Rule, Unchecked, judged
from guardrails.value import Value

_LEVELS = {"mandatory": EnforcementLevel.MANDATORY, "advisory": EnforcementLevel.ADVISORY}


class NotCheckedYet(UnknownValueError):  # noqa: N818 - it is a state, and the SDK's base has a name of its own
    """What a rule could not look at. The SDK turns it into an advice that stops nothing, in preview alone."""

    def __init__(self, found: Sequence[Unchecked]) -> None:
        super().__init__(UNKNOWN_STRING_VALUE, [])
        of = "; ".join(dict.fromkeys(f"{_name(it.urn)} {it.path}" for it in found))
        self.message = f"not checked yet, known after up: {of}"


def policies(rules: Iterable[Rule[Any]]) -> list[Policy]:
    """Return rules as the SDK wants them.

    Before them stands one that notes each resource's inputs. What the engine gives to a policy over a stack are
    outputs, and in the first preview of a stack that makes its cluster Kubernetes objects have none at all: while the
    kubeconfig is not known nobody asks a provider (seen with CLI 3.274.1).
    """
    inputs: dict[str, Any] = {}

    def note(args: ResourceValidationArgs, _: ReportViolation) -> None:
        inputs[args.urn] = plain(args.props)

    noted = ResourceValidationPolicy(NOTED, "Notes the inputs of each resource for the rules over a stack.", note)
    return [noted, *(_over_resource(it) if it.over == "resource" else _over_stack(it, inputs) for it in rules)]


NOTED = "inputs-noted"
"""It finds nothing. Disabled, rules over a stack see what the engine shows them."""


def _over_resource(rule: Rule[Any]) -> Policy:
    def validate(args: ResourceValidationArgs, report: ReportViolation) -> None:
        if args.resource_type not in rule.kinds:
            return
        seen = Resource(
            kind=args.resource_type,
            name=args.name,
            urn=args.urn,
            props=Value(plain(args.props)),
            protect=args.opts.protect,
        )
        _reported(judged(rule, [seen], args.get_config()), report, with_urn=False)

    return ResourceValidationPolicy(rule.id, _said(rule), validate, _LEVELS[rule.level], _schema(rule))


def _over_stack(rule: Rule[Any], inputs: Mapping[str, Any]) -> Policy:
    def validate(args: StackValidationArgs, report: ReportViolation) -> None:
        stack = seen(args.resources, inputs)
        _reported(judged(rule, stack, args.get_config(), stack), report, with_urn=True)

    return StackValidationPolicy(rule.id, _said(rule), validate, _LEVELS[rule.level], _schema(rule))


def seen(resources: Iterable[PolicyResource], inputs: Mapping[str, Any]) -> list[Resource]:
    """Return the resources of a stack, with those that they need.

    Args:
        resources: as the SDK has them.
        inputs: by URN, in place of what the SDK has.
    """
    found: dict[str, Resource] = {}
    given = list(resources)
    for it in given:
        props = Value(inputs[it.urn] if it.urn in inputs else plain(it.props))
        found[it.urn] = Resource(kind=it.resource_type, name=it.name, urn=it.urn, props=props, protect=it.opts.protect)
    for it in given:
        mine = found[it.urn]
        # they know each other, so all must be there first
        object.__setattr__(mine, "parent", found.get(it.parent.urn) if it.parent else None)
        provider = found.get(it.provider.urn) if it.provider else None
        needs = (*(found[other.urn] for other in it.dependencies), *([provider] if provider else []))
        object.__setattr__(mine, "needs", needs)
        sources = {key: tuple(found[other.urn] for other in others) for key, others in it.property_dependencies.items()}
        object.__setattr__(mine, "sources", sources)
    return list(found.values())


def plain(value: Any) -> Any:
    """Return what the SDK's proxies hold: they raise at the first unknown value, and this pack looks at the others."""
    target = value["__target"] if type(value).__name__ in {"_DictProxy", "_ListProxy"} else value
    if isinstance(target, Mapping):
        return {key: plain(it) for key, it in target.items()}
    if isinstance(target, (list, tuple)):
        return [plain(it) for it in target]
    return target


def _reported(findings: Iterator[Finding], report: ReportViolation, *, with_urn: bool) -> None:
    unchecked = []
    for finding in findings:
        if isinstance(finding, Unchecked):
            unchecked.append(finding)
        else:
            report(finding.says, finding.urn if with_urn else None)
    if unchecked:
        raise NotCheckedYet(unchecked)


def _said(rule: Rule[Any]) -> str:
    return f"{rule.says} {rule.why} ({rule.source})"


def _schema(rule: Rule[Any]) -> PolicyConfigSchema | None:
    if not rule.config:
        return None
    return PolicyConfigSchema({key: {**_TYPES[type(value)], "default": value} for key, value in rule.config.items()})


_TYPES: Mapping[type, Mapping[str, Any]] = {
    bool: {"type": "boolean"},
    int: {"type": "integer"},
    float: {"type": "number"},
    str: {"type": "string"},
    list: {"type": "array", "items": {"type": "string"}},
    dict: {"type": "object"},
}


def _name(urn: str) -> str:
    return urn.rpartition("::")[2]
