"""What is wrong with a JSON value, by a schema of the argument tables.

The schemas are those of vLLM's own classes, cut down by `dump.py` to the words that are known here. Numbers and
booleans in text are taken as pydantic takes them (its "lax" mode, which vLLM leaves on).
"""

import math
import operator
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from infra.section import nearest, shown

Schema = Mapping[str, Any]

_BOOLEANS = {"true", "false", "1", "0", "yes", "no", "on", "off", "t", "f", "y", "n"}
_NAMES = {
    "array": "a list",
    "boolean": "true or false",
    "integer": "a whole number",
    "null": "null",
    "number": "a number",
    "object": "an object",
    "string": "text",
}
_LIMITS: Mapping[str, tuple[str, Callable[[float, float], bool]]] = {
    "minimum": (">=", operator.ge),
    "exclusiveMinimum": (">", operator.gt),
    "maximum": ("<=", operator.le),
    "exclusiveMaximum": ("<", operator.lt),
}


def problem(schema: Schema, value: object, at: str = "") -> str | None:
    """Return the first thing that is wrong, or None.

    Args:
        schema: of the value.
        value: as JSON gives it.
        at: where it stands in what the user wrote, for the message.
    """
    return next(_problems(schema, value, at), None)


def _problems(schema: Schema, value: object, at: str) -> Iterator[str]:
    if branches := schema.get("anyOf"):
        yield from _of_any(branches, value, at)
    elif (kind := schema.get("type")) and not _is(kind, value):
        yield _said(at, f"expected {_NAMES[kind]}")
    elif "const" in schema and value != schema["const"]:
        yield _said(at, f"expected {shown(schema['const'])}")
    elif (choices := schema.get("enum")) and value not in choices:
        yield _said(at, nearest(str(value), list(map(str, choices))))
    else:
        yield from _number(schema, value, at)
        yield from _list(schema, value, at)
        yield from _object(schema, value, at)


def _of_any(branches: Sequence[Schema], value: object, at: str) -> Iterator[str]:
    found = [problem(branch, value, at) for branch in branches]
    if None not in found:
        fitting = (it for it, branch in zip(found, branches, strict=True) if _is(branch.get("type", ""), value))
        words = " or ".join(_NAMES.get(branch.get("type", ""), "a choice") for branch in branches)
        yield next(fitting, None) or _said(at, f"expected {words}")


def _is(kind: str, value: object) -> bool:
    number = isinstance(value, int | float)  # true and false are 1 and 0 to pydantic
    match kind:
        case "array":
            return isinstance(value, list)
        case "boolean":
            return str(value).lower() in _BOOLEANS | {"1.0", "0.0"} and not isinstance(value, Mapping | list)
        case "integer":
            text = isinstance(value, str) and re.fullmatch(r"\s*[+-]?[0-9]+(_[0-9]+)*(\.0*)?\s*", value)
            return bool(text) or (isinstance(value, int | float) and math.isfinite(value) and value == int(value))
        case "null":
            return value is None
        case "number":
            return number or (isinstance(value, str) and _parsed(value) is not None)
        case "object":
            return isinstance(value, Mapping)
        case "string":
            return isinstance(value, str)
    return True


def _parsed(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def _number(schema: Schema, value: object, at: str) -> Iterator[str]:
    measured = _parsed(value) if isinstance(value, str) else value
    for word, (sign, holds) in _LIMITS.items():
        if word in schema and isinstance(measured, int | float) and not holds(measured, schema[word]):
            yield _said(at, f"expected {sign} {schema[word]:g}")


def _list(schema: Schema, value: object, at: str) -> Iterator[str]:
    if not isinstance(value, list):
        return
    if len(value) < schema.get("minItems", 0):
        yield _said(at, f"expected at least {schema['minItems']} items")
    if len(value) > schema.get("maxItems", len(value)):
        yield _said(at, f"expected at most {schema['maxItems']} items")
    of_each = schema.get("prefixItems", [])
    for index, item in enumerate(value):
        yield from _problems(
            of_each[index] if index < len(of_each) else schema.get("items", {}), item, f"{at}[{index}]"
        )


def _object(schema: Schema, value: object, at: str) -> Iterator[str]:
    if not isinstance(value, Mapping):
        return
    known, further = schema.get("properties", {}), schema.get("additionalProperties", True)
    for key, inner in value.items():
        path = f"{at}.{key}" if at else str(key)
        if key in known:
            yield from _problems(known[key], inner, path)
        elif further is False:
            yield _said(path, f"no such key; {nearest(str(key), list(known))}")
        elif further is not True:
            yield from _problems(further, inner, path)
    for key in schema.get("required", []):
        if key not in value:
            yield _said(f"{at}.{key}" if at else key, "missing")


def _said(at: str, what: str) -> str:
    return f"{at}: {what}" if at else what
