"""Whether a provider still points to the same cluster."""

from __future__ import annotations

import json
from typing import Any

import yaml

from rehearsal.providers.change.compare import Difference
from rehearsal.providers.change.verdict import Detail, Verdict
from rehearsal.providers.values import UNKNOWN, Properties

_IDENTIFIER = "clusterIdentifier"
_POINTERS = ("kubeconfig", "context", "cluster")


def diff_config(olds: Properties, news: Properties) -> Verdict:
    """As `DiffConfig` in `provider/pkg/provider/provider.go` of pulumi-kubernetes (commit f47bc2d6f199).

    - Another `clusterIdentifier` replaces the provider; one that stays keeps it, whatever else changes;
      one that comes or goes does neither.
    - Without one, an unknown kubeconfig, context or cluster replaces it, because nobody can tell.
    - Else the active cluster decides: server, certificate authority and the rest of its entry. A
      kubeconfig with another user, command or formatting is an update. When no active cluster can
      be found in the old or the new one (a path to a file counts as that here), it is an update too.
    """
    changed = sorted(key for key in olds.keys() | news.keys() if olds.get(key) != news.get(key))
    if not changed:
        return Verdict()
    old_id, new_id = olds.get(_IDENTIFIER), news.get(_IDENTIFIER)
    replaces = {_IDENTIFIER} if None not in (old_id, new_id) and old_id != new_id else set()
    unknown = next((key for key in _POINTERS if news.get(key) == UNKNOWN), None)
    if unknown is not None:
        replaces.add(unknown)
    else:
        if olds.get("renderYamlToDirectory") != news.get("renderYamlToDirectory"):
            replaces.add("renderYamlToDirectory")
        old, new = _active(olds), _active(news)
        if None not in (old, new) and old != new:
            replaces |= {key for key in _POINTERS if key in changed}
    if new_id is not None and new_id == old_id:
        replaces = set()
    details = {key: Detail(difference=_difference(key, olds, news), replaces=key in replaces) for key in changed}
    return Verdict(details=details, replaces=tuple(sorted(replaces)))


def _difference(key: str, olds: Properties, news: Properties) -> Difference:
    if olds.get(key) is None:
        return Difference.ADD
    return Difference.DELETE if news.get(key) is None else Difference.UPDATE


def _active(arguments: Properties) -> Properties | None:
    """The entry of the cluster that the arguments point to."""
    config = _kubeconfig(arguments.get("kubeconfig"))
    context = _named(config.get("contexts"), arguments.get("context") or config.get("current-context"), "context")
    if context is None:
        return None
    return _named(config.get("clusters"), arguments.get("cluster") or context.get("cluster"), "cluster")


def _kubeconfig(value: Any) -> Properties:
    if isinstance(value, str):
        try:
            # JSON first: it is most of them, and much faster to read.
            value = json.loads(value) if value.lstrip().startswith("{") else yaml.safe_load(value)
        except (ValueError, yaml.YAMLError):
            return {}
    return value if isinstance(value, dict) else {}


def _named(entries: Any, name: Any, key: str) -> Properties | None:
    listed = entries if isinstance(entries, list) else []
    found = [it.get(key) for it in listed if isinstance(it, dict) and it.get("name") == name]
    return found[0] if found and isinstance(found[0], dict) else None
