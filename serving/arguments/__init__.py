"""The arguments of `vllm serve`, per engine version, and how a value is written on its command line.

The tables are made from the real parser by `dump.py` (run it where that vLLM is installed). vLLM's parser lets more
through than its engine accepts, and accepts abbreviations that break with the next flag: here a flag has one spelling.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from infra.section import closest, nearest, shown
from serving.arguments.schema import problem

TABLES = Path(__file__).parent
ENGINES = tuple(sorted(path.stem for path in TABLES.glob("*.json")))
"""Engine versions that have a table."""

_SIZE = r"[0-9]+[kKmMgGtT]?|[0-9]+\.[0-9]+[kmgt]"
"""8k is 8000, 8K is 8192; a fraction only of the decimal units (the parser's `human_readable_int`)."""


class BadArgumentError(ValueError):
    """A flag or value that this engine version does not take."""


class MeantError(BadArgumentError):
    """A flag that is none, where another one is meant. The message advises to write that one."""

    def __init__(self, wrong: str, meant: str, advice: str) -> None:
        """Say what is wrong (or nothing), which flag is meant, and what to write instead."""
        super().__init__("; ".join(filter(None, (wrong, advice))))
        self.wrong = wrong
        self.meant = meant


@dataclass(frozen=True)
class Argument:
    """One row of a table."""

    kind: str
    """switch, int, float, text, size (8192, 8k, 8K), size-or-auto, object (a JSON object), json, json-or-text,
    pair-or-object (name=path)."""
    choices: tuple[str, ...] = ()
    many: bool = False
    """Takes one or more values."""
    optional: bool = False
    negative: str | None = None
    """The flag that switches a switch off."""
    default: bool | None = None
    """Of a switch."""
    aliases: tuple[str, ...] = ()
    schema: Mapping[str, Any] = field(default_factory=dict)
    """What the engine's own classes say of the value. Empty: nothing is known."""
    registered: tuple[str, ...] = ()
    """Names that the engine knows, where its parser takes any text."""
    plugin: str | None = None
    """The flag that brings further ones."""


@cache
def table(engine: str) -> Mapping[str, Argument]:
    """Return the arguments of an engine version by long name, without dashes."""
    content = json.loads((TABLES / f"{engine}.json").read_text())
    return TypeAdapter(dict[str, Argument]).validate_python(content["flags"])


LONGEST = 128 * 1024
"""Bytes of one argument, with the zero at its end: MAX_ARG_STRLEN (execve(2))."""


def written(engine: str, flag: str, value: object) -> tuple[str, ...]:
    """Return the command-line items of one flag, as the engine's process gets them.

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
        if (nothing := next((text for text in texts if text in ("", "None")), None)) is not None:
            raise BadArgumentError(f"{shown(nothing)} is nothing to vLLM, and so no item of a list")
        if dashed := next((text for text in texts if text.startswith("-")), None):
            raise BadArgumentError(f"{dashed} would be read as another flag")
        return tuple(map(_passed, (f"--{flag}", *texts)))
    return (_passed(f"--{flag}={_text(argument, value)}"),)


def literal(item: str) -> str:
    """Return the text of a container's arguments of which Kubernetes makes this item.

    It reads $(NAME) as a variable and two dollars as one (expand() of its expansion package): nothing here is meant
    that way.
    """
    return item.replace("$", "$$")


def unknown_name(engine: str, args: Mapping[str, object], flag: str) -> str | None:
    """Return what is wrong with a name that a flag takes, or None: a plug-in among the arguments may bring any name."""
    argument = table(engine)[flag]
    value = args[flag]
    if not argument.registered or argument.plugin in args or str(value) in argument.registered:
        return None
    in_any_case = {name.casefold(): name for name in argument.registered}
    same = in_any_case.get(str(value).casefold())
    hint = f"did you mean {same}?" if same else nearest(str(value), argument.registered)
    return f"vLLM {engine} knows no such name; {hint}"


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
        raise MeantError("flag and value in one", name, f"write {name}: {value}")
    if bare in arguments:
        raise BadArgumentError(f"write it without dashes: {bare}")
    for name, argument in arguments.items():
        if bare in argument.aliases:
            raise MeantError(f"short for {name}", name, f"write {name}")
        if bare == argument.negative:
            raise MeantError("", name, f"write {name}: false")
    wrong = f"vLLM {engine} has no such flag"
    source = f"(serving/arguments/{engine}.json)"
    # without regard to case and underlines: what is near in spelling may not be what is meant
    same = re.sub(r"[_.]", "-", bare).lower()
    if meant := same if same in arguments else closest(bare, list(arguments)):
        raise MeantError(wrong, meant, f"did you mean {meant}? {source}")
    raise BadArgumentError(f"{wrong}; {nearest(bare, list(arguments))} {source}")


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
    if argument.kind in ("object", "json", "json-or-text") or (
        argument.kind == "pair-or-object" and (isinstance(value, Mapping) or str(value).lstrip().startswith("{"))
    ):
        return _json(argument, value)
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise BadArgumentError(f"expected {_expected(argument)}")
    text = str(value)
    if "\0" in text:
        raise BadArgumentError("holds a NUL, which no process can be given")
    patterns = {
        "int": r"-?[0-9]+",
        "float": r"-?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?",
        "pair-or-object": r"[^=,{]+=[^=,]+",
        "size": _SIZE,
        "size-or-auto": rf"{_SIZE}|auto|-1",
    }
    if argument.choices:
        if text not in argument.choices:
            raise BadArgumentError(nearest(text, argument.choices))
    elif argument.kind in patterns and not re.fullmatch(patterns[argument.kind], text):
        raise BadArgumentError(f"expected {_expected(argument)}")
    if argument.kind != "pair-or-object" and (wrong := problem(argument.schema, _measured(text))):
        raise BadArgumentError(wrong)
    return text


def amount(value: object) -> float:
    """Return the number that a value means to the parser: 8k is 8000, 8K is 8192.

    Raises:
        ValueError: it means none.
    """
    return float(str(_measured(str(value))))


def _measured(text: str) -> object:
    """Return the number that a text means to the parser: 8k is 8000, 8K is 8192, auto is -1."""
    if text == "auto":
        return -1
    if units := re.fullmatch(r"([0-9.]+)([kKmMgGtT])", text):
        amount, unit = units.groups()
        power = "kmgt".index(unit.lower()) + 1
        return float(amount) * (1000 if unit.islower() else 1024) ** power
    return text


def _json(argument: Argument, value: object) -> str:
    if isinstance(value, str):
        if re.fullmatch(r"(['\"])\s*[{\[].*[}\]]\s*\1", value, re.DOTALL):
            raise BadArgumentError("JSON in another pair of quotes; write the object itself")
        if argument.kind == "json-or-text" and not value.lstrip().startswith("{"):
            if wrong := problem(argument.schema, value):
                raise BadArgumentError(wrong)
            return value
        try:
            value = json.loads(value)
        except json.JSONDecodeError as error:
            raise BadArgumentError(f"not JSON: {error}") from None
    if isinstance(value, Mapping) or (isinstance(value, list) and argument.kind == "json"):
        if wrong := problem(argument.schema, value):
            raise BadArgumentError(wrong)
        try:
            return json.dumps(value, separators=(",", ":"), sort_keys=True, ensure_ascii=False, allow_nan=False)
        except ValueError:
            raise BadArgumentError("holds a number that is not finite") from None
    raise BadArgumentError(f"expected a JSON object, for example {shown({'key': 'value'})}")


def _expected(argument: Argument) -> str:
    words = {
        "int": "a whole number",
        "float": "a number",
        "size": "a whole number or one with a unit, such as 8k",
        "size-or-auto": "a whole number, one with a unit such as 8k, or auto",
        "text": "text",
        "pair-or-object": "name=path, or an object",
    }
    return f"one of {', '.join(argument.choices)}" if argument.choices else words[argument.kind]
