"""Whether readers and platforms of two schemas understand each other, whichever of both is newer.

Both happen: an application that was written for an older platform, and one that is newer than the platform it reads. So
what was promised stays, and what is new may be missing.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

Schema = Mapping[str, Any]
"""JSON Schema, as pydantic writes it."""

_SAID = frozenset({"title", "description", "default", "deprecated", "examples"})
"""Keywords that change nothing of what is exported."""


@dataclass(frozen=True, kw_only=True)
class Shape:
    """What a value may be; words about it left out."""

    kind: str
    """`object`, `mapping` of names that the stack chooses, `list`, or all that the schema says of a single value."""
    nullable: bool = False
    fields: Mapping[str, "Shape"] = field(default_factory=dict)
    required: frozenset[str] = frozenset()
    """Of the fields."""
    of: "Shape | None" = None
    """What a mapping or a list holds."""


def shape(schema: Schema) -> Shape:
    """Return the shape that a whole schema describes."""
    return _shape(schema, schema.get("$defs", {}))


def _shape(node: Schema, definitions: Mapping[str, Schema]) -> Shape:
    if "$ref" in node:
        return _shape(definitions[node["$ref"].rpartition("/")[2]], definitions)
    if "anyOf" in node:
        null, others = _parted(node["anyOf"])
        if null and len(others) == 1:
            return replace(_shape(others[0], definitions), nullable=True)
    if "properties" in node:
        return Shape(
            kind="object",
            fields={name: _shape(inner, definitions) for name, inner in node["properties"].items()},
            required=frozenset(node.get("required", ())),
        )
    if isinstance(node.get("additionalProperties"), Mapping):
        return Shape(kind="mapping", of=_shape(node["additionalProperties"], definitions))
    if node.get("type") == "array" and "items" in node:
        return Shape(kind="list", of=_shape(node["items"], definitions))
    told = {key: value for key, value in node.items() if key not in _SAID}
    return Shape(kind=told["type"] if told.keys() == {"type"} else json.dumps(told, sort_keys=True))


def _parted(options: list[Schema]) -> tuple[bool, list[Schema]]:
    others = [option for option in options if option.get("type") != "null"]
    return len(others) < len(options), others


def incompatible(old: Schema, new: Schema) -> list[str]:
    """Return each change that a step of the first number is needed for: `path: what`, in the order of the paths.

    Compatible is a new output that may be missing, and any change of words. Not looked at: the order of outputs, and
    what a reader takes for an output that is missing.
    """
    return [f"{path}: {what}" for path, what in sorted(_changes("", shape(old), shape(new)))]


def _changes(path: str, old: Shape, new: Shape) -> Iterator[tuple[str, str]]:
    if old.kind != new.kind:
        yield path, f"was {old.kind}, is {new.kind}"
    elif old.of and new.of:
        inside = f"{path}.*" if old.kind == "mapping" else f"{path}[]"
        if loosened := _loosened(old.of, new.of, missing=(False, False)):
            yield inside, loosened
        yield from _changes(inside, old.of, new.of)
    else:
        yield from _fields(f"{path}." if path else "", old, new)


def _fields(above: str, old: Shape, new: Shape) -> Iterator[tuple[str, str]]:
    added = {name: inner for name, inner in new.fields.items() if name not in old.fields}
    for name, inner in old.fields.items():
        path = f"{above}{name}"
        if name not in new.fields:
            alike = [other for other in added if added[other] == inner]
            renamed = f"; {alike[0]} is new and of its shape: export both for a release" if len(alike) == 1 else ""
            yield path, f"is gone{renamed}"
            continue
        missing = (name not in old.required, name not in new.required)
        if loosened := _loosened(inner, new.fields[name], missing):
            yield path, loosened
        yield from _changes(path, inner, new.fields[name])
    for name in added:
        if name in new.required:
            yield f"{above}{name}", "is new and required; older platforms do not export it: give it a default"


def _loosened(old: Shape, new: Shape, missing: tuple[bool, bool]) -> str:
    """Return what differs in whether a value is there; empty when nothing does. `missing`: may it, then and now."""
    both = {"missing": missing, "null": (old.nullable, new.nullable)}
    now = [word for word, (before, after) in both.items() if after and not before]
    gone = [word for word, (before, after) in both.items() if before and not after]
    said = []
    if now:
        said.append(f"may be {' or '.join(now)} now; readers rely on it")
    if gone:
        said.append(f"may not be {' or '.join(gone)} any more; of older platforms it may")
    return ", and ".join(said)
