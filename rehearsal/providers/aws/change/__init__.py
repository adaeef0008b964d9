"""Update or replace, as pulumi-aws decides it: the rules of `table.py`, compared as Terraform compares."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any

from rehearsal.providers.aws.change.table import RULES
from rehearsal.providers.change.compare import as_terraform, by_index, without
from rehearsal.providers.change.paths import parse
from rehearsal.providers.change.verdict import Verdict, details, replacing, top_level
from rehearsal.providers.package import Comparison, Kind
from rehearsal.providers.values import Properties, reveal

__all__ = ["diff", "diff_config"]


def diff(kind: Kind, comparison: Comparison) -> Verdict:
    """What a change means for an AWS resource. Raises LookupError for a type without a rule."""
    rule = RULES[comparison.token]
    olds, news = reveal(comparison.olds), reveal(comparison.news)
    for path in (*rule.keeps, "region"):
        _keep(news, olds, path)
    if news.get("region") is not None:
        # State from before AWS resources had a region of their own: they are in their provider's.
        olds.setdefault("region", comparison.instance.config.get("region"))
    changes = as_terraform(
        _filled(olds, rule.defaults), _filled(news, rule.defaults), {parse(path) for path in rule.sets}
    )
    found = details(without(changes, [parse(path) for path in comparison.ignored]), rule.forcing, rule.forcing_when)
    replaces = top_level(replacing(found))
    return Verdict(
        details=found,
        replaces=replaces,
        delete_first=bool(replaces) and _named_by_the_program(kind, comparison.logical, news),
    )


def diff_config(olds: Properties, news: Properties) -> Verdict:
    """A change of the provider's arguments is an update, `region` included.

    pulumi-aws 7 gave up replacing the provider for its region (`provider/resources.go` since commit
    d273034ca, pulumi/pulumi-aws#5656): Check writes the region into each regional resource, and that
    is what replaces them one by one.
    """
    return Verdict(details=details(by_index(olds, news), ()))


def _named_by_the_program(kind: Kind, logical: str, news: Properties) -> bool:
    """As `nameRequiresDeleteBeforeReplace` in `pkg/tfbridge/schema.go` of pulumi-terraform-bridge.

    Any name that is not a generated one counts, a new one too, although it would be free.
    """
    rule = kind.auto_name
    return (
        rule is not None and news.get(rule.property) is not None and not rule.is_generated(news[rule.property], logical)
    )


def _keep(target: Properties, source: Properties, path: str) -> None:
    """Copy the value at `path` from `source` into `target` when that has none."""
    *parents, leaf = path.split(".")
    there: Any = target
    here: Any = source
    for parent in parents:
        there = there.get(parent) if isinstance(there, dict) else None
        here = here.get(parent) if isinstance(here, dict) else None
    if isinstance(there, dict) and isinstance(here, dict) and there.get(leaf) is None and here.get(leaf) is not None:
        there[leaf] = here[leaf]


def _filled(properties: Properties, defaults: Mapping[str, Any]) -> Properties:
    """`properties` with the defaults of inputs that are left out, inside given objects too."""
    filled = copy.deepcopy(properties)
    for path, value in defaults.items():
        *parents, leaf = path.split(".")
        target: Any = filled
        for parent in parents:
            target = target.get(parent) if isinstance(target, dict) else None
        if isinstance(target, dict) and target.get(leaf) is None:
            target[leaf] = value
    return filled
