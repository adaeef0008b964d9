"""Property values as the engine sends them: protobuf structs, unknowns, secrets, references.

The marker strings are the wire format of Pulumi's resource protocol
(`sdk/go/common/resource/plugin/rpc.go`, `sdk/go/common/resource/sig/sig.go`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from google.protobuf import struct_pb2

Properties = dict[str, Any]
"""A property bag: camelCase names to JSON values, with the markers below in place."""

UNKNOWN = "04da6b54-80e4-46f7-96ec-b56ff0331ba9"
"""Stands for a value that only exists after `up`."""

SIGNATURE = "4dabf18193072939515e22adb298388d"
SECRET = "1b47061264138c4ac30d75fd1eb44270"  # noqa: S105 - a type marker, not a credential
REFERENCE = "5cf8f73096256a8f31e491e813e4eb8e"


def from_struct(struct: struct_pb2.Struct) -> Properties:
    """The property bag in `struct`; whole numbers become int, as a JSON reader would see them."""
    return {key: _from_value(value) for key, value in struct.fields.items()}


def _from_value(value: struct_pb2.Value) -> Any:
    match value.WhichOneof("kind"):
        case "string_value":
            return value.string_value
        case "number_value":
            number = value.number_value
            return int(number) if number.is_integer() else number
        case "bool_value":
            return value.bool_value
        case "struct_value":
            return from_struct(value.struct_value)
        case "list_value":
            return [_from_value(item) for item in value.list_value.values]
        case _:
            return None


def to_struct(properties: Mapping[str, Any]) -> struct_pb2.Struct:
    """`properties` for the wire. Raises ValueError for a value that JSON has no word for."""
    struct = struct_pb2.Struct()
    struct.update(properties)
    return struct


def is_unknown(value: object) -> bool:
    """True when `value` itself is unknown; a list or object that holds unknowns is not."""
    return value == UNKNOWN


def has_unknown(value: object) -> bool:
    """True when `value` or anything inside it is unknown."""
    if isinstance(value, Mapping):
        return any(has_unknown(item) for item in value.values())
    if isinstance(value, Sequence) and not isinstance(value, str):
        return any(has_unknown(item) for item in value)
    return is_unknown(value)


def reveal(value: Any) -> Any:
    """`value` without secret wrappers, for computing with it; never for printing."""
    if isinstance(value, Mapping):
        if value.get(SIGNATURE) == SECRET:
            return reveal(value["value"])
        return {key: reveal(item) for key, item in value.items()}
    if isinstance(value, list):
        return [reveal(item) for item in value]
    return value


def reference(urn: str, identifier: str, version: str) -> Properties:
    """A reference to the resource `urn`; an empty `identifier` means it has no id yet."""
    return {
        SIGNATURE: REFERENCE,
        "urn": urn,
        "id": identifier or UNKNOWN,
        "packageVersion": version,
    }
