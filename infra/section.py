"""What every section of the stack file is made of: strict models, scalar types, and one line per mistake.

A field's `description` says what the key may hold. It is the reference of the stack file and the second half of every
refusal, so that the two cannot drift apart.
"""

import difflib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Annotated, Any, TypeVar, cast, get_origin

import pulumi
from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    StringConstraints,
    TypeAdapter,
    ValidationError,
)
from pydantic.alias_generators import to_camel

SHOWN_VALUE = 80
"""Characters of a refused value that a message repeats."""

LONGEST_PROBLEM = 2000
"""Characters of what is said about one mistake: it may repeat a list of what was written."""

FEW = 20
"""Allowed words that a message lists."""


class Section(BaseModel):
    """One mapping of the stack file: camelCase keys, unknown keys refused, immutable."""

    model_config = ConfigDict(extra="forbid", frozen=True, alias_generator=to_camel, hide_input_in_errors=True)

    def __getattr__(self, name: str) -> Any:
        """A field without a value: the section is what was right of a wrong one (`right_part`)."""
        if name in type(self).model_fields:
            raise UnreadableError(name)
        return super().__getattr__(name)  # type: ignore[misc] # pydantic hides it from type checkers


class UnreadableError(Exception):
    """A check reads a key that is missing or wrong. That mistake is reported already."""


T = TypeVar("T")


def readable(problems: Iterator[T]) -> Iterator[T]:
    """Yield problems up to where their check reads what is not right."""
    with suppress(UnreadableError):
        yield from problems


@dataclass(frozen=True)
class Complaint:
    """A mistake in the stack file: where, and what about it."""

    path: tuple[str | int, ...]
    problem: str

    def __str__(self) -> str:
        """Return the line that the user reads: `servers.chat.pool: "g7": ...`. It is one line whatever it repeats."""
        steps = (step if len(step) <= SHOWN_VALUE else f"{step[:SHOWN_VALUE]}..." for step in map(str, self.path))
        problem = self.problem if len(self.problem) <= LONGEST_PROBLEM else f"{self.problem[:LONGEST_PROBLEM]}..."
        line = f"{'.'.join(steps)}: {problem}"
        return "".join(sign if sign.isprintable() else ascii(sign)[1:-1] for sign in line)


def _flag(value: object) -> object:
    """`pulumi config set` writes booleans as text (pulumi#18632); only the two exact words are clear."""
    words = {"true": True, "false": False}
    if isinstance(value, str) and value in words:
        return words[value]
    if isinstance(value, bool):
        return value
    raise ValueError


def _whole(value: object) -> object:
    """Refuse what only looks like a whole number: true, 3.0, "1e3"."""
    if isinstance(value, str) and re.fullmatch(r"-?(0|[1-9][0-9]*)", value):
        return int(value)
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    raise ValueError


def _decimal(value: object) -> object:
    """Numbers and their text, but neither booleans nor words such as "nan"."""
    if isinstance(value, str) and re.fullmatch(r"[0-9]+(\.[0-9]+)?", value):
        return float(value)
    if isinstance(value, int | float) and not isinstance(value, bool):
        return value
    raise ValueError


Flag = Annotated[bool, BeforeValidator(_flag)]
Whole = Annotated[int, BeforeValidator(_whole)]
Decimal = Annotated[float, BeforeValidator(_decimal)]


def _each_once(values: tuple[Any, ...]) -> tuple[Any, ...]:
    for value in values:
        if values.count(value) > 1:
            raise ValueError(f"{value} stands there twice")
    return values


EachOnce = AfterValidator(_each_once)
"""For lists whose items become resources: a repeated one would be a repeated URN."""

DNS_LABEL = r"^[a-z]([a-z0-9-]*[a-z0-9])?$"
NAME_RULE = "each name a lower-case DNS label of at most 30 characters"
KeyName = Annotated[str, StringConstraints(pattern=DNS_LABEL, max_length=30)]
"""Name of a pool, a server, an access entry: part of resource names, so 30 characters leave room for every suffix."""


S = TypeVar("S", bound=Section)


def validated(model: type[S], raw: object, name: str) -> tuple[S | None, list[Complaint]]:
    """Return the tree, or None and every mistake in it.

    Args:
        model: the tree's own section.
        raw: what YAML gave.
        name: what a complaint about the whole tree calls it; the paths of all others start below it.
    """
    try:
        return model.model_validate(raw), []
    except ValidationError as error:
        found = [(_where(dict(detail)), dict(detail)) for detail in error.errors(include_url=False)]
    # a list with one wrong item is also called too short: what stands above a complaint is not a mistake of its own
    above = {where[:depth] for where, _ in found for depth in range(len(where))}
    # and a misspelt key is missing under its right name
    meant = {
        (*where[:-1], closest(str(where[-1]), _keys(_described(model, where)[0])))
        for where, detail in found
        if detail["type"] == "extra_forbidden"
    }
    return None, [
        _complaint(model, raw, name, where, detail)
        for where, detail in found
        if where not in above and not (detail["type"] == "missing" and where in meant)
    ]


def right_part(model: type[S], raw: object, wrong: set[tuple[str | int, ...]], at: tuple[str | int, ...] = ()) -> S:
    """Return the section with every key that is right, so that the checks between keys can run on the rest.

    Args:
        model: the section's class.
        raw: what YAML gave for it.
        wrong: the paths of all complaints.
        at: the path of the section.
    """
    values: dict[str, Any] = {}
    for name, field in model.model_fields.items():
        path = (*at, _alias(model, name))
        if path in wrong or not isinstance(raw, Mapping) or path[-1] not in raw:
            continue
        value = raw[path[-1]]
        inner: type[Section] | None = next(_sections(field.annotation), None)
        by_name = get_origin(field.annotation) is Mapping
        if not any(complaint[: len(path)] == path for complaint in wrong):
            # the field's own constraints, without its alias
            annotation: Any = Annotated[(field.annotation, Field(), *field.metadata)]
            values[name] = TypeAdapter(annotation).validate_python(value)
        elif inner is not None and not by_name:
            values[name] = right_part(inner, value, wrong, path)
        elif inner is not None and isinstance(value, Mapping):
            values[name] = {
                key: right_part(inner, entry, wrong, (*path, key))
                for key, entry in value.items()
                if (*path, key) not in wrong
            }
    return cast("S", model.model_construct(**values))


def shown(value: object) -> str:
    """Return the value as the user wrote it (JSON), cut when it is long."""
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= SHOWN_VALUE else f"{text[: SHOWN_VALUE - 3]}..."


def nearest(word: str, allowed: Sequence[str]) -> str:
    """Return the hint for a typo: the nearest allowed word, or all of them when none is near and they are few."""
    if close := closest(word, allowed):
        return f"did you mean {close}?"
    if len(allowed) > FEW:
        return f"none of the {len(allowed)} known ones is near"
    return f"allowed: {', '.join(sorted(allowed)) or 'none'}"


def closest(word: str, allowed: Sequence[str]) -> str:
    """Return the allowed word that is meant by a typo; nothing when none is near."""
    return next(iter(difflib.get_close_matches(word, allowed, n=1)), "")


def _is_key(detail: Mapping[str, Any]) -> bool:
    """Whether a mapping's own key is refused: pydantic marks it with a trailing "[key]"."""
    return len(detail["loc"]) > 1 and detail["loc"][-1] == "[key]" and detail["type"] != "extra_forbidden"


def _where(detail: Mapping[str, Any]) -> tuple[str | int, ...]:
    path: tuple[str | int, ...] = detail["loc"]
    return path[:-1] if _is_key(detail) else path


def _complaint(
    model: type[Section], raw: object, name: str, where: tuple[str | int, ...], detail: Mapping[str, Any]
) -> Complaint:
    owner, description = _described(model, where)
    path = where or (name,)
    if detail["type"] == "extra_forbidden":
        return Complaint(path, f"unknown key; {nearest(str(where[-1]), _keys(owner))}")
    if detail["type"] == "missing":
        return Complaint(path, f"missing; expected {description}")
    if _is_key(detail):
        return Complaint(path, f"{shown(where[-1])} cannot be a key here; expected {description}")
    value = shown(_value(raw, where))
    if detail["type"] == "model_type":
        section, _ = _described(model, (*where, ""))
        return Complaint(path, f"{value} is not a mapping; expected the keys {', '.join(_keys(section))}")
    own = str(detail.get("ctx", {}).get("error", ""))
    above = _value(raw, where[:-1])
    if isinstance(above, Mapping) and where[-1] not in above:  # a default that does not fit the rest: nobody wrote it
        return Complaint(path, own)
    return Complaint(path, f"{value}; {own}" if own else f"{value}; expected {description}")


def _described(model: type[Section], where: Sequence[str | int]) -> tuple[type[Section], str]:
    """Return the section that holds the last key of a path, and the description of that key's field."""
    owner, description, inner = model, "", model
    for step in where:
        owner = inner
        field = next((f for name, f in owner.model_fields.items() if _alias(owner, name) == step), None)
        if field is not None:  # else a list index or a mapping's own key: the field above still describes it
            description = field.description or ""
            inner = next(_sections(field.annotation), owner)
    return owner, description


def _sections(annotation: Any) -> Iterator[type[Section]]:
    if isinstance(annotation, type) and issubclass(annotation, Section):
        yield annotation
    for argument in getattr(annotation, "__args__", ()):
        yield from _sections(argument)


def _alias(owner: type[Section], name: str) -> str:
    return owner.model_fields[name].alias or name


def _keys(model: type[Section]) -> list[str]:
    return [_alias(model, name) for name in model.model_fields]


def _value(raw: Any, where: Sequence[str | int]) -> object:
    for step in where:
        try:
            raw = raw[step]
        except (LookupError, TypeError):
            return raw  # pydantic puts its own marks behind the path of some values
    return raw


def secret_text(
    config: pulumi.Config, key: str, withdrawal: str = "withdraw that token and set a new one"
) -> tuple[str | None, list[Complaint]]:
    """Return the text of a secret key, None when there is none, and what is wrong with how it is kept.

    Args:
        config: of the project.
        key: its name there.
        withdrawal: what to do with a text that was stored in plain, and has leaked.
    """
    full = config.full_key(key)
    text = config.get(key)
    if text is not None and not pulumi.runtime.is_config_secret(full):
        return None, [Complaint((full,), f"stored as plain text; {withdrawal} with --secret")]
    return text, []
