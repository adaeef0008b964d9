"""A reader of command lines by the argument tables alone: it shares no code with what writes them."""

import json
import re
from functools import cache
from typing import Any

from tests.harness import ROOT

_FORMS = {
    "int": r"-?\d+",
    "float": r"-?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?",
    "size": r"\d+[kKmMgGtT]?|\d+\.\d+[kmgt]",
    "size-or-auto": r"\d+[kKmMgGtT]?|\d+\.\d+[kmgt]|auto|-1",
}


class MisreadError(Exception):
    """vLLM would refuse this command line, or take it for another one."""


@cache
def rows(engine: str) -> dict[str, dict[str, Any]]:
    return json.loads((ROOT / "serving" / "arguments" / f"{engine}.json").read_text())["flags"]


def read(engine: str, items: list[str]) -> tuple[str, dict[str, Any]]:
    """The model, and the values by flag."""
    if not items or items[0].startswith("-"):
        raise MisreadError("the model does not come first")
    model, *waiting = items
    spelled = {name: (name, True) for name in rows(engine)}
    spelled |= {row["negative"]: (name, False) for name, row in rows(engine).items() if "negative" in row}
    found: dict[str, Any] = {}
    while waiting:
        item = waiting.pop(0)
        if not item.startswith("--"):
            raise MisreadError(f"{item} belongs to no flag")
        spelling, equals, text = item[2:].partition("=")
        if spelling not in spelled:
            raise MisreadError(f"no flag --{spelling}")
        flag, positive = spelled[spelling]
        if flag in found:
            raise MisreadError(f"--{flag} twice")
        row = rows(engine)[flag]
        if row["kind"] == "switch":
            if equals:
                raise MisreadError(f"--{spelling} takes no value")
            found[flag] = positive
        elif row.get("many"):
            values = []
            while waiting and not waiting[0].startswith("-"):
                values.append(_value(flag, row, waiting.pop(0)))
            if equals or not values:
                raise MisreadError(f"--{flag} takes its values behind it, one or more")
            found[flag] = values
        elif not equals:
            raise MisreadError(f"--{flag} without a value")
        else:
            found[flag] = _value(flag, row, text)
    return model, found


def _value(flag: str, row: dict[str, Any], text: str) -> Any:
    if choices := row.get("choices"):
        if text not in choices:
            raise MisreadError(f"--{flag} has no choice {text}")
        return text
    kind = row["kind"]
    if form := _FORMS.get(kind):
        if not re.fullmatch(form, text, re.ASCII):
            raise MisreadError(f"--{flag}: {text} is no {kind}")
        return float(text) if kind == "float" else int(text) if kind == "int" else text
    if kind == "text" or (kind.endswith(("-or-text", "-or-object")) and not text.lstrip().startswith("{")):
        return text
    try:
        value = json.loads(text)
    except ValueError:
        raise MisreadError(f"--{flag}: {text} is no JSON") from None
    if not isinstance(value, dict if kind != "json" else dict | list):
        raise MisreadError(f"--{flag}: {text} is no JSON object")
    return value
