"""A stack file as Pulumi hands it to the program: through go-yaml, out of it, in again, and out as JSON.

PyYAML would make other values of it, and `ops` other cache keys than the program's. For Pulumi `4.0` is 4 and `1e3` is
1000, `no` and `12:30` are text, so is every key, and a date becomes a text of Go's form. Sources: `resolve.go` and
`decode.go` of gopkg.in/yaml.v3, `config/object.go` and `workspace/loaders.go` of Pulumi's SDK (3.274).
"""

import math
import re
from collections.abc import Iterator, Sequence
from datetime import date
from decimal import Decimal
from typing import Any

import yaml
from pydantic import JsonValue

MOST_VALUES = 100_000
"""Aliases can write more values than memory has in ten lines. The checked-in files have some 200."""

Scalar = None | bool | int | float | str

_CORE = "tag:yaml.org,2002:"
_PLAIN = ""
"""Tag of a scalar that has neither quotes nor a tag of its own."""

_WORDS: dict[str, tuple[str, Scalar]] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), ("null", None)),
    **dict.fromkeys(("true", "True", "TRUE"), ("bool", True)),
    **dict.fromkeys(("false", "False", "FALSE"), ("bool", False)),
    **dict.fromkeys((".nan", ".NaN", ".NAN"), ("float", math.nan)),
    **dict.fromkeys((".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF"), ("float", math.inf)),
    **dict.fromkeys(("-.inf", "-.Inf", "-.INF"), ("float", -math.inf)),
}
_INT = re.compile(r"([-+]?)(?:0[xX]([0-9a-fA-F]+)|0[bB]([01]+)|0[oO]?([0-7]+)|(0|[1-9][0-9]*))")
_FIRST = frozenset("+-0123456789")
_BETWEEN_DIGITS = re.compile(r"(?<=[0-9])_(?=[0-9])")
_BASES = (16, 2, 8, 10)
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_MOMENT = re.compile(
    r"([0-9]{4})-([0-9]{1,2})-([0-9]{1,2})"
    r"(?:([Tt]| +)([0-9]{1,2}):([0-9]{1,2}):([0-9]{1,2})(?:[.,]([0-9]+))?(Z|[-+][0-9]{2}:[0-9]{2})?)?"
)


class UnreadableError(Exception):
    """Pulumi refuses the file, or reads it in no way that can be foretold. `problems`: one line each."""

    def __init__(self, problems: Sequence[str]) -> None:
        """Take the lines; of several the message has one each, below a first that counts them."""
        many = [f"the stack file has {len(problems)} mistakes:", *(f"  {problem}" for problem in problems)]
        super().__init__("\n".join(many if len(problems) > 1 else problems))


def tree(content: bytes) -> JsonValue:
    """Return the document, with the keys of mappings in order, as the program gets it.

    Raises:
        UnreadableError: a key twice, an anchor that contains itself, too many aliases, a number that is not finite.
        yaml.YAMLError, ValueError, RecursionError: no YAML.
    """
    node = yaml.compose(content, Loader=_Loader)
    reader = _Reader()
    value = reader.value(node, "") if node else None
    if reader.problems:
        raise UnreadableError(reader.problems)
    return value


class _Loader(yaml.SafeLoader):
    def resolve(self, kind: Any, _: Any, implicit: Any) -> Any:
        """Leave a plain scalar without a tag: `_resolved` finds it. What is in quotes is text."""
        return _PLAIN if kind is yaml.ScalarNode and implicit[0] else f"{_CORE}str"


class _Reader:
    """Makes values of nodes, and keeps what is wrong with them."""

    def __init__(self) -> None:
        self.problems: list[str] = []
        self._count = 0
        self._above: set[int] = set()

    def value(self, node: yaml.Node, path: str) -> JsonValue:
        self._count += 1
        if self._count > MOST_VALUES:
            raise UnreadableError([f"more than {MOST_VALUES} values, with what aliases repeat"])
        if isinstance(node, yaml.ScalarNode):
            return _json(self._scalar(node, path))
        if id(node) in self._above:
            self.problems.append(f"{path or 'an anchor'} contains itself")
            return None
        self._above.add(id(node))
        try:
            if isinstance(node, yaml.MappingNode):
                return self._mapping(node, path)
            return [self.value(item, f"{path}[{index}]") for index, item in enumerate(node.value)]
        finally:
            self._above.remove(id(node))

    def _mapping(self, node: yaml.MappingNode, path: str) -> dict[str, JsonValue]:
        merged: dict[str, JsonValue] = {}
        own: dict[str, JsonValue] = {}
        for key, value in node.value:
            name = self._key(key, path)
            below = f"{path}.{name}".lstrip(".")
            if name in own:
                self.problems.append(f"{below} stands there twice")
            elif name == "<<":
                own[name] = None
                for found in self._sources(value, below):
                    merged = found | merged
            else:
                own[name] = self.value(value, below)
        own.pop("<<", None)
        return dict(sorted((merged | own).items()))

    def _sources(self, node: yaml.Node, path: str) -> Iterator[dict[str, JsonValue]]:
        for source in node.value if isinstance(node, yaml.SequenceNode) else [node]:
            if not isinstance(source, yaml.MappingNode):
                self.problems.append(f"{path}: expected a mapping, or a list of them, to take keys from")
            elif isinstance(found := self.value(source, path), dict):
                yield found

    def _key(self, node: yaml.Node, path: str) -> str:
        if isinstance(node, yaml.ScalarNode):
            return _key_text(self._scalar(node, f"a key of {path}"))
        self.problems.append(f"{path or 'the file'}: a list or mapping is no key")
        return ""

    def _scalar(self, node: yaml.ScalarNode, path: str) -> Scalar:
        text, kind = str(node.value), node.tag.removeprefix(_CORE)
        if kind == "binary":
            self.problems.append(f"{path}: !!binary is not read here")
        if not text.isascii() and any("\ud800" <= sign <= "\udfff" for sign in text):
            self.problems.append(f"{path}: half of a surrogate pair is no text")
        if kind not in {_PLAIN, "null", "bool", "int", "float", "timestamp"}:
            return text
        found, value = _resolved(text, dates=kind in {_PLAIN, "timestamp"})
        if kind not in {_PLAIN, found} and (kind, found) != ("float", "int"):
            self.problems.append(f"{path}: {text!r} is no {kind}")
        if isinstance(value, float) and not math.isfinite(value):
            self.problems.append(f"{path}: {text} is not a finite number")
            return None
        return value


def _resolved(text: str, *, dates: bool) -> tuple[str, Scalar]:
    """Return what a scalar without quotes is, and its value."""
    if text in _WORDS:
        return _WORDS[text]
    if dates and (moment := _moment(text)):
        return "timestamp", moment
    if text.startswith("."):
        digits = _BETWEEN_DIGITS.sub("", text)
    else:
        digits = text.replace("_", "") if text[:1] in _FIRST else ""
        if (whole := _whole(digits)) is not None:
            return "int", whole
    # what is too large for a float is text
    if _FLOAT.fullmatch(digits) and math.isfinite(number := float(digits)):
        return "float", number
    return "str", text


def _whole(text: str) -> int | None:
    """Return an integer that fits into 64 bits: signed, or without any sign."""
    found = _INT.fullmatch(text)
    if found is None:
        return None
    sign, *digits = found.groups()
    number = next(int(it, base) for it, base in zip(digits, _BASES, strict=True) if it is not None)
    number = -number if sign == "-" else number
    return number if -(2**63) <= number < (2**63 if sign else 2**64) else None


def _moment(text: str) -> str | None:
    """Return a date and time as Go's `time.Time.String` does.

    An offset has no name here. Go finds one when it is the machine's own: there the program's key depends on it.
    """
    found = _MOMENT.fullmatch(text)
    if found is None:
        return None
    year, month, day = (int(it) for it in found.groups()[:3])
    hour, minute, second = (int(it or 0) for it in found.groups()[4:7])
    between, fraction, zone = found[4] or "", (found[8] or "")[:9].rstrip("0"), found[9] or ""
    try:
        date(year or 2000, month, day)  # Go has a year 0, which is a leap year
    except ValueError:
        return None
    # behind a T there is a zone, behind a space there is none
    if hour > 23 or minute > 59 or second > 59 or bool(between.strip()) != bool(zone):
        return None
    offset = zone.replace(":", "")
    where = f"{offset} {offset}" if offset.strip("Z+-0") else "+0000 UTC"
    clock = f"{hour:02}:{minute:02}:{second:02}{'.' if fraction else ''}{fraction}"
    return f"{year:04}-{month:02}-{day:02} {clock} {where}"


def _json(value: Scalar) -> JsonValue:
    """Return what the program reads out of the JSON: a number without a fraction is an integer up to 21 digits."""
    if isinstance(value, int) and not -(2**63) <= value < 2**63:
        value = float(value)
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e21:
        return int(Decimal(repr(value)))
    return value


def _key_text(value: Scalar) -> str:
    """Return what Go prints of a key."""
    if isinstance(value, str):
        return value
    if value is None:
        return "<nil>"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int):
        return str(value)
    shortest = Decimal(repr(value + 0.0)).normalize()
    return f"{shortest:f}" if -4 <= shortest.adjusted() < 6 else f"{value:.{len(shortest.as_tuple().digits) - 1}e}"
