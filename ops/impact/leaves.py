"""What differs between two manifests, told by what things are and not by their place in a list.

A variable that comes first in `env` would else move every other one: containers, variables and volumes are told by
name, mounts by path, the words of a command line by their flag.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import JsonValue

ORDER = " (order)"
"""Ends the path of a list that has the same things in another order."""

_IDENTITIES = ("mountPath", "name", "containerPort", "topologyKey", "key", "deviceName", "id", "alias", "port")
"""Keys that tell the items of a list apart, the best first."""

_COMMAND_LINES = frozenset({"args"})
_WHOLE = frozenset({"command"})
"""Lists that mean something only as a whole."""


@dataclass(frozen=True)
class Change:
    """One leaf that is another one."""

    path: str
    """`spec.containers[vllm].args[--max-num-seqs]`."""
    before: JsonValue
    """None: it was not there. No manifest holds a null."""
    after: JsonValue


def changes(before: Any, after: Any) -> tuple[Change, ...]:
    """Return what differs, in the order of what comes after. Empty when and only when both are equal."""
    old, new = dict(_leaves(before, "")), dict(_leaves(after, ""))
    paths = [*new, *(path for path in old if path not in new)]
    return tuple(
        Change(path, old.get(path), new.get(path))
        for path in paths
        if _typed(old, path) != _typed(new, path) and not (path.endswith(ORDER) and _others(old, new, path))
    )


def _others(old: Mapping[str, JsonValue], new: Mapping[str, JsonValue], path: str) -> bool:
    """Whether the list has other things now, which are told one by one."""
    before, after = old.get(path), new.get(path)
    if not isinstance(before, list) or not isinstance(after, list):
        return True
    return sorted(map(str, before)) != sorted(map(str, after))


def _typed(leaves: Mapping[str, JsonValue], path: str) -> tuple[bool, type, JsonValue]:
    """For Python 1 and true are equal."""
    value = leaves.get(path)
    return path in leaves, type(value), value


def _leaves(value: Any, path: str) -> Iterator[tuple[str, JsonValue]]:
    if isinstance(value, Mapping) and value:
        for key, item in value.items():
            yield from _leaves(item, f"{path}.{key}".lstrip("."))
    elif isinstance(value, list) and value:
        yield from _items(value, path)
    else:
        yield path, value


def _items(items: list[Any], path: str) -> Iterator[tuple[str, JsonValue]]:
    field = path.rpartition(".")[2]
    texts = all(isinstance(it, str) for it in items)
    if texts and field in _WHOLE:
        yield path, " ".join(items)
        return
    if texts and field in _COMMAND_LINES:
        words = list(_words(items))
        keyed = dict(words) if len(dict(words)) == len(words) else None
    else:
        keyed = _keyed(items)
    if keyed is None:
        for place, item in enumerate(items):
            yield from _leaves(item, f"{path}[{place}]")
        return
    for key, item in keyed.items():
        yield from _leaves(item, f"{path}[{key}]")
    # another order is another manifest, and where the last of two flags wins it means something
    yield f"{path}{ORDER}", [*keyed]


def _keyed(items: Sequence[Any]) -> dict[str, Any] | None:
    """Return the items by what tells them apart; None when nothing does."""
    if not all(isinstance(it, Mapping) for it in items):
        return None
    for name in _IDENTITIES:
        keys = [str(it[name]) for it in items if name in it]
        if len(set(keys)) == len(items):
            return dict(zip(keys, items, strict=True))
    return None


def _words(items: Iterable[str]) -> Iterator[tuple[str, JsonValue]]:
    """Yield the flags of a command line with their values; what stands before the first one, by its place."""
    flag, values, place = "", list[str](), 0
    for word in items:
        if word.startswith("--"):
            if flag:
                yield flag, " ".join(values)
            flag, equals, value = word.partition("=")
            values = [value] if equals else []
        elif flag:
            values.append(word)
        else:
            yield str(place), word
            place += 1
    if flag:
        yield flag, " ".join(values)
