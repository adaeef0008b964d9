"""One side of the comparison: what a revision's own code says of its stack file."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml
from pydantic import JsonValue

import settings
from ops import COMMAND
from ops.failures import RefusedError, UnclearError, UsageError
from ops.impact import plan
from ops.impact.plan import Plan
from ops.impact.revision.run import Checkout, run
from ops.stack import pulumi_yaml


@dataclass(frozen=True, kw_only=True)
class Key:
    """A cache key, with the facts behind it."""

    exact: str
    base: str
    facts: Mapping[str, JsonValue]


@dataclass(frozen=True, kw_only=True)
class Side:
    """A revision."""

    title: str
    plan: Plan
    settings: Mapping[str, Any]
    """The stack file's own tree, as it is written there."""
    keys: Mapping[str, Key] = field(default_factory=dict)
    """By server: of those alone whose key moves."""
    candidates: Mapping[str, str] = field(default_factory=dict)
    """Prefix of the candidate's cache, by server that has one and whose key moves."""


def planned(side: Checkout, stack: str, command: str, state: Path, secrets: Sequence[str]) -> Side:
    """Return what its rehearsal plans.

    Args:
        side: the revision.
        stack: name of the stack.
        command: `up`, or `preview` of what an `up` in the same state left.
        state: folder in which the stack stands.
        secrets: `path=value` each.

    Raises:
        RefusedError, UsageError, UnclearError: as `run`.
    """
    file = state.with_name(f"{command}.json")
    given = [part for secret in secrets for part in ("--secret", secret)]
    run(side, "rehearsal", command, "--stack", stack, "--state", str(state), "--json", str(file), *given)
    document = json.loads(file.read_text(encoding="utf-8"))
    return Side(title=side.title, plan=plan.read(document, side.title), settings=_tree(side, stack))


def key(side: Checkout, stack: str, server: str) -> Key:
    """Return the key of a server.

    Raises:
        RefusedError, UsageError, UnclearError: as `run`; or it has another form than is read here.
    """
    return _key(side, _asked(stack, server))


def candidates(side: Checkout, stack: str, servers: Iterable[str], tree: Mapping[str, Any]) -> dict[str, str]:
    """Return the cache's prefix of each of the servers that has a candidate, and whose candidate is no mistake."""
    found = {}
    for server in servers:
        if _section(tree, "servers", server).get("candidate"):
            try:
                found[server] = _key(side, [*_asked(stack, server), "--candidate"]).exact
            except (RefusedError, UsageError, UnclearError):
                continue
    return found


def section(side: Side, *path: str) -> Mapping[str, Any]:
    """Return a part of the stack file; empty when it has none."""
    return _section(side.settings, *path)


def _section(tree: Mapping[str, Any], *path: str) -> Mapping[str, Any]:
    for step in path:
        below = tree.get(step)
        tree = below if isinstance(below, dict) else {}
    return tree


def _asked(stack: str, server: str) -> list[str]:
    return ["ops", "cache", "key", "--server", server, "--stack", stack, "--json"]


def _key(side: Checkout, arguments: Sequence[str]) -> Key:
    out = run(side, *arguments)
    try:
        document = json.loads(out)
        return Key(exact=document["exact"], base=document["base"], facts=dict(document["facts"]))
    except (ValueError, KeyError, TypeError) as error:
        raise UnclearError(f"{side.title}: `{COMMAND} cache key --json` has another form: {error!r}") from None


def _tree(side: Checkout, stack: str) -> Mapping[str, Any]:
    """Return the settings as they are written. The program has read them: whatever is wrong was told."""
    try:
        whole = pulumi_yaml.tree((side.folder / f"Pulumi.{stack}.yaml").read_bytes())
    except (OSError, pulumi_yaml.UnreadableError, yaml.YAMLError, ValueError, RecursionError):
        return {}
    config = whole.get("config") if isinstance(whole, dict) else None
    config = config if isinstance(config, dict) else {}
    found = config.get(settings.KEY, config.get(f"{settings.PROJECT}:{settings.KEY}"))
    try:
        # `pulumi config set` writes it as one text
        found = json.loads(found) if isinstance(found, str) else found
    except ValueError:
        found = {}
    return found if isinstance(found, dict) else {}
