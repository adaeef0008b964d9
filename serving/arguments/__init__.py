"""The arguments of `vllm serve`, per engine version, and how a value is written on its command line.

The tables are made from the real parser by `dump.py` (run it where that vLLM is installed). vLLM's parser lets more
through than its engine accepts, and accepts abbreviations that break with the next flag: here a flag has one spelling.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from pydantic import TypeAdapter

from infra.section import nearest, shown

TABLES = Path(__file__).parent
ENGINES = tuple(sorted(path.stem for path in TABLES.glob("*.json")))
"""Engine versions that have a table."""

_SIZE = r"[0-9]+[kKmMgGtT]?|[0-9]+\.[0-9]+[kmgt]"
"""8k is 8000, 8K is 8192; a fraction only of the decimal units (the parser's `human_readable_int`)."""


class BadArgumentError(ValueError):
    """A flag or value that this engine version does not take."""


@dataclass(frozen=True)
class Argument:
    """One row of a table."""

    kind: str
    """switch, int, float, text, size (8192, 8k, 8K), size-or-auto, object (a JSON object), json, json-or-text."""
    choices: tuple[str, ...] = ()
    many: bool = False
    """Takes one or more values."""
    optional: bool = False
    negative: str | None = None
    """The flag that switches a switch off."""
    default: bool | None = None
    """Of a switch."""
    aliases: tuple[str, ...] = ()


@cache
def table(engine: str) -> Mapping[str, Argument]:
    """Return the arguments of an engine version by long name, without dashes."""
    content = json.loads((TABLES / f"{engine}.json").read_text())
    return TypeAdapter(dict[str, Argument]).validate_python(content["flags"])


LONGEST = 128 * 1024
"""Bytes of one argument, with the zero at its end: MAX_ARG_STRLEN (execve(2))."""


def written(engine: str, flag: str, value: object) -> tuple[str, ...]:
    """Return the command-line items of one flag.

    Raises:
        BadArgumentError: the engine has no such flag, or the flag no such value; the message says what is allowed.
    """
    argument = _known(engine, flag)
    if argument.kind == "switch":
        return _switch(flag, argument, value)
    if argument.many:
        values = value if isinstance(value, Sequence) and not isinstance(value, str) else [value]
        if not values:
            raise BadArgumentError("expected at least one value")
        texts = [_text(argument, item) for item in values]
        if dashed := next((text for text in texts if text.startswith("-")), None):
            raise BadArgumentError(f"{dashed} would be read as another flag")
        return tuple(map(_passed, (f"--{flag}", *map(_literal, texts))))
    return (_passed(f"--{flag}={_literal(_text(argument, value))}"),)


def _passed(item: str) -> str:
    if (size := len(item.encode())) >= LONGEST:
        raise BadArgumentError(f"{size} bytes; Linux gives a process no argument of {LONGEST} and more")
    return item


def _known(engine: str, flag: str) -> Argument:
    arguments = table(engine)
    if flag in arguments:
        return arguments[flag]
    bare = flag.lstrip("-")
    if re.search(r"[\s=]", bare):
        name, value = re.split(r"[\s=]+", bare, maxsplit=1)
        raise BadArgumentError(f"flag and value in one; write {name}: {value}")
    if bare in arguments:
        raise BadArgumentError(f"write it without dashes: {bare}")
    for name, argument in arguments.items():
        if bare in argument.aliases:
            raise BadArgumentError(f"short for {name}; write {name}")
        if bare == argument.negative:
            raise BadArgumentError(f"write {name}: false")
    raise BadArgumentError(
        f"vLLM {engine} has no such flag; {nearest(bare, list(arguments))} (serving/arguments/{engine}.json)"
    )


def _switch(flag: str, argument: Argument, value: object) -> tuple[str, ...]:
    wanted = {"true": True, "false": False}.get(value) if isinstance(value, str) else value
    if wanted is True:
        return (f"--{flag}",)
    if wanted is not False:
        raise BadArgumentError("expected true or false")
    if argument.default is False:
        return ()
    if argument.negative:
        return (f"--{argument.negative}",)
    raise BadArgumentError("cannot be switched off; leave it out")


def _text(argument: Argument, value: object) -> str:
    if argument.kind in ("object", "json", "json-or-text"):
        return _json(argument, value)
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise BadArgumentError(f"expected {_expected(argument)}")
    text = str(value)
    if "\0" in text:
        raise BadArgumentError("holds a NUL, which no process can be given")
    patterns = {
        "int": r"-?[0-9]+",
        "float": r"-?[0-9]+(\.[0-9]+)?(e-?[0-9]+)?",
        "size": _SIZE,
        "size-or-auto": rf"{_SIZE}|auto|-1",
    }
    if argument.choices:
        if text not in argument.choices:
            raise BadArgumentError(nearest(text, argument.choices))
    elif argument.kind in patterns and not re.fullmatch(patterns[argument.kind], text):
        raise BadArgumentError(f"expected {_expected(argument)}")
    return text


def _json(argument: Argument, value: object) -> str:
    if isinstance(value, str):
        if re.fullmatch(r"(['\"])\s*[{\[].*[}\]]\s*\1", value, re.DOTALL):
            raise BadArgumentError("JSON in another pair of quotes; write the object itself")
        if argument.kind == "json-or-text" and not value.lstrip().startswith("{"):
            return value
        try:
            value = json.loads(value)
        except json.JSONDecodeError as error:
            raise BadArgumentError(f"not JSON: {error}") from None
    if isinstance(value, Mapping) or (isinstance(value, list) and argument.kind == "json"):
        try:
            return json.dumps(value, separators=(",", ":"), sort_keys=True, ensure_ascii=False, allow_nan=False)
        except ValueError:
            raise BadArgumentError("holds a number that is not finite") from None
    raise BadArgumentError(f"expected a JSON object, for example {shown({'key': 'value'})}")


def _literal(text: str) -> str:
    """Kubernetes expands $(NAME) in arguments; nothing here is meant that way."""
    return text.replace("$(", "$$(")


def _expected(argument: Argument) -> str:
    words = {
        "int": "a whole number",
        "float": "a number",
        "size": "a whole number or one with a unit, such as 8k",
        "size-or-auto": "a whole number, one with a unit such as 8k, or auto",
        "text": "text",
    }
    return f"one of {', '.join(argument.choices)}" if argument.choices else words[argument.kind]
