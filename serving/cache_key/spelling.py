"""One spelling of a command line: two that mean the same to vLLM's parser give the same value here."""

import json
from collections.abc import Mapping

from pydantic import JsonValue

from serving.arguments import Argument, table, written

_UNITS = {"k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12, "K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}
"""vLLM's `human_readable_int` (utils/argparse_utils.py)."""


def canonical_flags(engine: str, flags: Mapping[str, object]) -> dict[str, JsonValue]:
    """Return the flags that stand on the command line, by long name, each with its value as JSON has it.

    A default that is written out stays there: what vLLM makes of a flag that is left out may depend on the GPU.

    Raises:
        BadArgumentError: a flag or value that the engine version does not take.
    """
    found: dict[str, JsonValue] = {}
    for spelled, given in flags.items():
        flag, value = _long_name(engine, spelled, given)
        items = written(engine, flag, value)
        found.pop(flag, None)
        # nothing is written for a switch that is off by default and set to false
        if items:
            found[flag] = _value(table(engine)[flag], flag, items)
    return found


def _long_name(engine: str, spelled: str, value: object) -> tuple[str, object]:
    """Undo aliases and `no-x: true`. Stack files may not hold either; a pod of another revision might."""
    bare = spelled.lstrip("-")
    for name, argument in table(engine).items():
        if bare in argument.aliases:
            return name, value
        if bare == argument.negative:
            wanted = {"true": True, "false": False}.get(value) if isinstance(value, str) else value
            return name, not wanted if isinstance(wanted, bool) else value
    return bare, value


def _value(argument: Argument, flag: str, items: tuple[str, ...]) -> JsonValue:
    if argument.kind == "switch":
        return items[0] == f"--{flag}"
    if argument.many:
        return [_one(argument, text) for text in items[1:]]
    return _one(argument, items[0].partition("=")[2])


def _one(argument: Argument, text: str) -> JsonValue:
    """Return the value of one text, which `written` has accepted."""
    if argument.choices:
        return text
    match argument.kind:
        case "int":
            return int(text)
        case "float":
            return float(text)
        case "size" | "size-or-auto":
            return -1 if text == "auto" else _size(text)
        case "object" | "json":
            return _json(text)
        case "json-or-text" if text.lstrip().startswith("{"):
            return _json(text)
        case _:
            return text


def _size(text: str) -> int:
    unit = _UNITS.get(text[-1])
    if unit is None:
        return int(text)
    number = text[:-1]
    # as vLLM does it, rounding included
    return int(float(number) * unit) if text[-1].islower() else int(number) * unit


def _json(text: str) -> JsonValue:
    value: JsonValue = json.loads(text)
    return value
