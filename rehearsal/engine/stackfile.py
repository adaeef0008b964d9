"""Reading a stack file as it stands: what makes it unusable, and a copy without what only its owner can decrypt.

The copy is cut out of the original text line by line. Loading it and dumping it again would change values: YAML 1.1 and
1.2 do not agree on `no` and `12:30`.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator
from dataclasses import dataclass

import yaml

_FOREIGN = frozenset({"encryptionsalt", "secretsprovider", "encryptedkey"})
"""These belong to the real backend's encryption; the scratch copy has a passphrase of its own."""


class UnreadableStackError(Exception):
    """The stack file cannot be used; one line per reason."""


@dataclass(frozen=True)
class _Entry:
    """A key of a mapping, with the lines (from, before) that it fills."""

    path: str
    lines: range
    inside: bool
    """Below the configuration's own keys, or on one line with others: it cannot be cut out."""


def rehearsable(name: str, content: bytes, given: Collection[str]) -> bytes:
    """Return the stack file without encrypted values and foreign keys; unchanged when it has none.

    Args:
        name: of the file, for messages.
        content: its bytes.
        given: configuration keys whose secret values the rehearsal is given.

    Raises:
        UnreadableStackError: no YAML, a key twice, a number that is not finite, an encrypted value that is not given.
    """
    try:
        root = yaml.compose(content, Loader=yaml.SafeLoader)
        problems = list(_problems(root, "", set()))
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise UnreadableStackError(f"{name} is not YAML: {' '.join(str(error).split())}") from error
    if not isinstance(root, yaml.MappingNode):
        raise UnreadableStackError(f"{name}: not a mapping; expected the key config")
    _refuse(name, problems)
    encrypted = list(_encrypted(_configuration(root), "", inside=False))
    _refuse(
        name,
        [
            f"{entry.path} is encrypted inside another value, which ends up in plain manifests:"
            " give it a configuration key of its own"
            if entry.inside
            else f"{entry.path} is encrypted and a rehearsal cannot read it: pass --secret {entry.path}=VALUE"
            for entry in encrypted
            if entry.inside or entry.path not in given
        ],
    )
    cut = {line for entry in (*encrypted, *_foreign(root)) for line in entry.lines}
    lines = content.splitlines(keepends=True)
    return b"".join(text for number, text in enumerate(lines) if number not in cut)


def _refuse(name: str, problems: Collection[str]) -> None:
    if problems:
        raise UnreadableStackError("\n".join(f"{name}: {problem}" for problem in problems))


def _problems(node: yaml.Node | None, path: str, above: set[int]) -> Iterator[str]:
    """Yield what Pulumi would refuse with a message of its own, or not at all."""
    if id(node) in above:
        yield f"{path or 'an anchor'} contains itself"
    elif isinstance(node, yaml.MappingNode):
        seen: set[str] = set()
        for key, value in node.value:
            below = f"{path}.{key.value}".lstrip(".")
            if str(key.value) in seen:
                yield f"{below} stands there twice"
            seen.add(str(key.value))
            yield from _problems(value, below, above | {id(node)})
    elif isinstance(node, yaml.SequenceNode):
        for index, item in enumerate(node.value):
            yield from _problems(item, f"{path}[{index}]", above | {id(node)})
    elif isinstance(node, yaml.ScalarNode) and not math.isfinite(_number(node)):
        yield f"{path}: {node.value} is not a finite number"


def _number(node: yaml.ScalarNode) -> float:
    if node.tag != "tag:yaml.org,2002:float":
        return 0.0
    return float(yaml.SafeLoader("").construct_yaml_float(node))


def _configuration(root: yaml.Node) -> yaml.Node | None:
    return next((value for key, value in root.value if key.value == "config"), None)


def _encrypted(node: yaml.Node | None, path: str, *, inside: bool) -> Iterator[_Entry]:
    """Yield every `{secure: ...}` below a node, with the path that `pulumi config set --path` takes."""
    pairs: list[tuple[str, yaml.Node, yaml.Node]] = []
    if isinstance(node, yaml.MappingNode):
        pairs = [(f"{path}.{key.value}".lstrip("."), key, value) for key, value in node.value]
    elif isinstance(node, yaml.SequenceNode):
        pairs = [(f"{path}[{index}]", item, item) for index, item in enumerate(node.value)]
    for below, key, value in pairs:
        if isinstance(value, yaml.MappingNode) and any(inner.value == "secure" for inner, _ in value.value):
            yield _Entry(below, _lines(key, value), inside or _on_one_line(node))
        else:
            yield from _encrypted(value, below, inside=True)


def _on_one_line(node: yaml.Node | None) -> bool:
    return isinstance(node, yaml.CollectionNode) and bool(node.flow_style)


def _foreign(root: yaml.Node) -> Iterator[_Entry]:
    for key, value in root.value:
        if key.value in _FOREIGN:
            yield _Entry(key.value, _lines(key, value), inside=False)


def _lines(key: yaml.Node, value: yaml.Node) -> range:
    """The lines of an entry. A block collection ends where the next thing begins, everything else on its own line."""
    block = isinstance(value, yaml.CollectionNode) and not value.flow_style
    at_end = value.end_mark.column == 0 or block
    return range(key.start_mark.line, max(value.end_mark.line + (not at_end), key.start_mark.line + 1))
