"""IAM documents, read as AWS reads them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from rehearsal.identities.patterns import covers, overlap

_ONE_OF = (("Action", "NotAction"), ("Resource", "NotResource"), ("Principal", "NotPrincipal"))
_KEYS = {"Sid", "Effect", "Condition", *(key for pair in _ONE_OF for key in pair)}


class DocumentError(Exception):
    """A document, or a place with one, that is not understood: nothing can be said of the stack then."""


@dataclass(frozen=True, kw_only=True)
class Statement:
    """One statement. Lists are lists, also where the document has a single text."""

    sid: str
    effect: Literal["Allow", "Deny"]
    actions: tuple[str, ...]
    not_actions: tuple[str, ...]
    resources: tuple[str, ...]
    """Empty in a trust policy, whose resource is the role."""
    not_resources: tuple[str, ...]
    principals: Mapping[str, tuple[str, ...]]
    """By kind; `*` alone is {"*": ("*",)}. Empty in an identity's policy."""
    not_principals: Mapping[str, tuple[str, ...]]
    conditions: Mapping[str, Mapping[str, tuple[str, ...]]]
    """Operator to key to values."""

    def touches(self, action: str, arn: str) -> bool:
        """Whether some request of this kind meets the statement, conditions aside. Too often rather than too seldom."""
        acted = not self.actions or any(overlap(it.lower(), action.lower()) for it in self.actions)
        excepted = any(covers(it.lower(), action.lower()) for it in self.not_actions)
        met = not self.resources or any(overlap(it, arn) for it in self.resources)
        spared = any(covers(it, arn) for it in self.not_resources)
        return acted and not excepted and met and not spared

    def meets_all(self, action: str, arn: str) -> bool:
        """Whether every request of this kind meets the statement, conditions aside. Never true by mistake."""
        acted = any(covers(it.lower(), action.lower()) for it in self.actions)
        return acted and any(covers(it, arn) for it in self.resources)


@dataclass(frozen=True, kw_only=True)
class Document:
    """One policy, and where it was found."""

    name: str
    """Logical name of the resource that it is an input of."""
    urn: str
    text: str
    statements: tuple[Statement, ...]


def read(name: str, urn: str, text: str) -> Document:
    """The document in a resource's input.

    Raises DocumentError for what is no policy, and for keys that IAM does not have.
    """
    try:
        content = json.loads(text)
    except json.JSONDecodeError:
        raise DocumentError(f"{urn}: no JSON") from None
    if not isinstance(content, dict) or not set(content) <= {"Version", "Id", "Statement"}:
        raise DocumentError(f"{urn}: no policy; expected an object of Version, Id and Statement")
    if content.get("Version") != "2012-10-17":
        raise DocumentError(f"{urn}: Version {content.get('Version')}; expected 2012-10-17, which knows variables")
    return Document(
        name=name, urn=urn, text=text, statements=tuple(_statement(urn, it) for it in _listed(content["Statement"]))
    )


def _statement(urn: str, raw: Any) -> Statement:
    if not isinstance(raw, dict) or not set(raw) <= _KEYS:
        unknown = sorted(set(raw) - _KEYS) if isinstance(raw, dict) else raw
        raise DocumentError(f"{urn}: a statement with {unknown}; expected keys out of {', '.join(sorted(_KEYS))}")
    if raw.get("Effect") not in {"Allow", "Deny"}:
        raise DocumentError(f"{urn}: Effect {raw.get('Effect')}; expected Allow or Deny")
    if any(set(pair) <= set(raw) for pair in _ONE_OF) or not {"Action", "NotAction"} & set(raw):
        raise DocumentError(
            f"{urn}: {raw.get('Sid', 'a statement')}: expected Action or NotAction, and no key with its Not"
        )
    return Statement(
        sid=raw.get("Sid", ""),
        effect=raw["Effect"],
        actions=tuple(_listed(raw.get("Action", ()))),
        not_actions=tuple(_listed(raw.get("NotAction", ()))),
        resources=tuple(_listed(raw.get("Resource", ()))),
        not_resources=tuple(_listed(raw.get("NotResource", ()))),
        principals=_principals(raw.get("Principal", {})),
        not_principals=_principals(raw.get("NotPrincipal", {})),
        conditions={
            operator: {key: tuple(str(it) for it in _listed(values)) for key, values in keys.items()}
            for operator, keys in raw.get("Condition", {}).items()
        },
    )


def _principals(raw: Any) -> dict[str, tuple[str, ...]]:
    if isinstance(raw, str):
        return {raw: (raw,)}
    return {kind: tuple(_listed(values)) for kind, values in raw.items()}


def _listed(value: Any) -> list[Any]:
    return list(value) if isinstance(value, list | tuple) else [value]


def places(value: Any, path: str = "") -> Iterator[str]:
    """Where a resource's inputs hold something with a `Statement`: as JSON in a text, or as an object."""
    if isinstance(value, str) and "Statement" in value:
        try:
            inside = json.loads(value)
        except json.JSONDecodeError:
            return
        if any(True for _ in places(inside)):
            yield path
    elif isinstance(value, Mapping):
        if "Statement" in value:
            yield path
        for key, item in value.items():
            yield from places(item, f"{path}.{key}".lstrip("."))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from places(item, f"{path}[{index}]")
