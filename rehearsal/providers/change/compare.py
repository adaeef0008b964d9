"""Which properties differ between two property bags, place by place."""

from __future__ import annotations

import difflib
import enum
import json
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any

from rehearsal.providers.change.paths import Path, is_within
from rehearsal.providers.values import UNKNOWN, Properties


class Difference(enum.Enum):
    """What happens at one place. Names as in `PropertyDiff.Kind` of the resource protocol."""

    ADD = "ADD"
    DELETE = "DELETE"
    UPDATE = "UPDATE"


@dataclass(frozen=True, kw_only=True)
class Change:
    """One place that differs. `value` is what comes (or, for a DELETE, goes), unknown as `UNKNOWN`."""

    difference: Difference
    value: Any


Changes = Mapping[Path, Change]


def by_index(olds: Properties, news: Properties) -> dict[Path, Change]:
    """Compare as a JSON merge patch does, lists element by element; None is the same as absent.

    Secrets must be revealed. An unknown value in `news` differs from every value.
    """
    return _differences((), olds, news, _Reading(lists=_element_by_element, absent=lambda value: value is None))


def as_terraform(olds: Properties, news: Properties, sets: Collection[Path]) -> dict[Path, Change]:
    """Compare as pulumi-terraform-bridge does (`pkg/tfbridge/detailed_diff.go`, v3.120).

    The order of the lists at `sets` means nothing, an inserted element of a list of plain values
    is one addition, and an empty list or object is the same as none. Otherwise as `by_index`.
    """

    def lists(path: Path, old: list[Any], new: list[Any], reading: _Reading) -> dict[Path, Change]:
        if path in sets:
            return _members(path, old, new, reading)
        if any(isinstance(item, dict | list) for item in (*old, *new)):
            return _element_by_element(path, old, new, reading)
        return _insertions(path, old, new)

    return _differences((), olds, news, _Reading(lists=lists, absent=lambda value: value is None or value in ([], {})))


def without(changes: Changes, ignored: Collection[Path]) -> dict[Path, Change]:
    """`changes` less those at or below the `ignored` places (`ignoreChanges` of a resource)."""
    return {path: it for path, it in changes.items() if not any(is_within(path, place) for place in ignored)}


@dataclass(frozen=True, kw_only=True)
class _Reading:
    lists: Callable[[Path, list[Any], list[Any], _Reading], dict[Path, Change]]
    absent: Callable[[Any], bool]


def _differences(path: Path, old: Any, new: Any, reading: _Reading) -> dict[Path, Change]:
    if reading.absent(new):
        return {} if reading.absent(old) else {path: Change(difference=Difference.DELETE, value=old)}
    if reading.absent(old):
        return {path: Change(difference=Difference.ADD, value=new)}
    if isinstance(old, dict) and isinstance(new, dict):
        found: dict[Path, Change] = {}
        for key in sorted(old.keys() | new.keys()):
            found |= _differences((*path, key), old.get(key), new.get(key), reading)
        return found
    if isinstance(old, list) and isinstance(new, list):
        return reading.lists(path, old, new, reading)
    # True equals 1 for Python, but no provider takes one for the other.
    if new != UNKNOWN and old == new and isinstance(old, bool) == isinstance(new, bool):
        return {}
    return {path: Change(difference=Difference.UPDATE, value=new)}


def _element_by_element(path: Path, old: list[Any], new: list[Any], reading: _Reading) -> dict[Path, Change]:
    found: dict[Path, Change] = {}
    for index in range(max(len(old), len(new))):
        before = old[index] if index < len(old) else None
        after = new[index] if index < len(new) else None
        found |= _differences((*path, index), before, after, reading)
    return found


def _insertions(path: Path, old: list[Any], new: list[Any]) -> dict[Path, Change]:
    removed: dict[int, Any] = {}
    added: dict[int, Any] = {}
    matcher = difflib.SequenceMatcher(None, [_key(item) for item in old], [_key(item) for item in new], autojunk=False)
    for tag, old_start, old_end, new_start, new_end in matcher.get_opcodes():
        if tag != "equal":
            removed |= {index: old[index] for index in range(old_start, old_end)}
            added |= {index: new[index] for index in range(new_start, new_end)}
    return _told(path, removed, added)


def _members(path: Path, old: list[Any], new: list[Any], reading: _Reading) -> dict[Path, Change]:
    before, after = {_key(item): index for index, item in enumerate(old)}, {_key(it): at for at, it in enumerate(new)}
    removed = {index: old[index] for key, index in before.items() if key not in after}
    added = {index: new[index] for key, index in after.items() if key not in before}
    found: dict[Path, Change] = {}
    for index in sorted(removed.keys() | added.keys()):
        found |= _differences((*path, index), removed.get(index), added.get(index), reading)
    return found


def _told(path: Path, removed: Mapping[int, Any], added: Mapping[int, Any]) -> dict[Path, Change]:
    found: dict[Path, Change] = {}
    for index in sorted(removed.keys() | added.keys()):
        if index not in added:
            change = Change(difference=Difference.DELETE, value=removed[index])
        else:
            kind = Difference.UPDATE if index in removed else Difference.ADD
            change = Change(difference=kind, value=added[index])
        found[*path, index] = change
    return found


def _key(value: Any) -> str:
    return json.dumps(value, sort_keys=True)
