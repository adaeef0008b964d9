"""The table of requests, as single requests of one cluster: `README.md` says how it is written."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from string import Template
from typing import Any

import yaml

from infra.karpenter.policies import Scope
from tests.infra.evaluator import Request
from tests.infra.karpenter.scene import ACCOUNT, NODE_ROLE, RELEASES, controller, listed, node_role_arn, queue_arn

ELSEWHERE = {"us-west-2": "us-east-1", "cn-north-1": "cn-northwest-1", "us-gov-west-1": "us-gov-east-1"}

ENTRY = {"statement", "action", "resource", "context", "principal", "since", "unchecked", "denied"}
VARIANT = {"why", "action", "resource", "context", "principal", "explicit"}


@dataclass(frozen=True, kw_only=True)
class Row:
    """One request and its answer."""

    title: str
    statement: str
    """Of the entry: it allows the request, or it is the one that nearly does."""
    allowed: bool
    explicit: bool
    since: str
    request: Request


def rows(of: Scope) -> list[Row]:
    """Every request of every file, for one cluster."""
    put_in = {
        "partition": of.place.partition.name,
        "region": of.place.region,
        "elsewhere": ELSEWHERE[of.place.region],
        "account": ACCOUNT,
        "cluster": of.cluster,
        "queue": queue_arn(of),
        "node_role": node_role_arn(of),
    }
    found: list[Row] = []
    for path in sorted(Path(__file__).parent.glob("*.yaml")):
        for who, entries in _filled(yaml.safe_load(path.read_text()), put_in).items():
            for entry in entries:
                found += _of_entry(of, who, entry)
    return found


def _of_entry(of: Scope, who: str, entry: Mapping[str, Any]) -> Iterator[Row]:
    assert set(entry) <= ENTRY, entry
    for request in _requests(of, who, entry):
        yield Row(
            title=f"{request.action} {request.resource}",
            statement=entry["statement"],
            allowed=True,
            explicit=False,
            since=entry.get("since", ""),
            request=request,
        )
    for variant in entry["denied"]:
        assert set(variant) <= VARIANT, variant
        changed = {key: variant[key] for key in ("principal", "action", "resource", "context") if key in variant}
        assert changed, f"{variant['why']}: nothing is changed"
        if "context" in changed:
            changed["context"] = {**entry.get("context", {}), **changed["context"]}
        for request in _requests(of, who, {**entry, **changed}):
            yield Row(
                title=f"{request.action} {request.resource} ({variant['why']})",
                statement=entry["statement"],
                allowed=False,
                explicit=variant.get("explicit", False),
                since=entry.get("since", ""),
                request=request,
            )


def _requests(of: Scope, who: str, entry: Mapping[str, Any]) -> Iterator[Request]:
    session = of.place.partition.arn(
        "sts", f"assumed-role/{NODE_ROLE if who == 'nodes' else 'karpenter'}/x", account=ACCOUNT
    )
    policies = {"controller": list(controller(of, RELEASES[0])), "nodes": ["nodes"], "queue": []}[who]
    context = {key: value for key, value in entry.get("context", {}).items() if value is not None}
    for principal, action, resource in product(
        listed(entry.get("principal", session)), listed(entry["action"]), listed(entry["resource"])
    ):
        yield Request(
            principal=principal,
            action=action,
            resource=resource,
            account=ACCOUNT,
            context=context,
            policies=policies,
            resource_policy="queue" if resource == queue_arn(of) else None,
            unchecked="unchecked" in entry,
        )


def _filled(value: Any, put_in: Mapping[str, str]) -> Any:
    if isinstance(value, str):
        return Template(value).substitute(put_in)
    if isinstance(value, dict):
        return {_filled(key, put_in): _filled(item, put_in) for key, item in value.items()}
    if isinstance(value, list):
        return [_filled(item, put_in) for item in value]
    return value
