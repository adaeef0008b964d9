"""How the inputs of a resource and its outputs go together."""

from __future__ import annotations

import copy
from typing import Any

from rehearsal.providers.package import Kind
from rehearsal.providers.values import SIGNATURE, UNKNOWN, Properties


def changed_keys(olds: Properties, news: Properties) -> list[str]:
    """Names of top-level properties that differ, sorted."""
    return sorted(key for key in olds.keys() | news.keys() if olds.get(key) != news.get(key))


def leave_unknown(kind: Kind, inputs: Properties) -> None:
    """Mark in `inputs`, for a preview, the parts of given objects that the cloud will compute."""
    for path in kind.unknown_inside:
        *parents, leaf = path.split(".")
        target: Any = inputs
        for parent in parents:
            target = target.get(parent) if isinstance(target, dict) else None
        if isinstance(target, dict) and SIGNATURE not in target:
            target.setdefault(leaf, UNKNOWN)


def as_given(outputs: Properties, given: Properties) -> Properties:
    """What is there now, of the properties that the program gives: no computed ones."""
    found = {key: outputs[key] for key in given if key in outputs}
    for key, value in given.items():
        # Tags are free-form: one that somebody added is a change to show.
        if isinstance(value, dict) and isinstance(found.get(key), dict) and key not in {"tags", "tagsAll"}:
            found[key] = as_given(found[key], value)
    return found


def merged(inputs: Properties, computed: Properties) -> Properties:
    """`inputs` plus `computed`; objects are merged, what the program gave wins."""
    both = copy.deepcopy(inputs)
    for key, value in computed.items():
        present = both.get(key)
        if isinstance(present, dict) and isinstance(value, dict) and SIGNATURE not in present:
            both[key] = merged(present, value)
        elif present is None:
            both[key] = copy.deepcopy(value)
    return both
