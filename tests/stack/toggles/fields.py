"""Every key that a stack file may hold, walked from the sections themselves: optional ones included."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, get_origin

from infra.section import Section
from settings import Settings


@dataclass(frozen=True)
class Key:
    """A key of the stack file: `servers.*.engine.image`."""

    pattern: str
    annotation: Any
    entries: bool
    """Whether it holds entries by name, whose names the user chooses."""

    def covers(self, path: str) -> bool:
        """Whether a dotted path is this key, or one of its entries."""
        mine, steps = self.pattern.split("."), path.split(".")
        if self.entries and len(steps) == len(mine) + 1:
            steps = steps[:-1]
        return len(steps) == len(mine) and all(one in ("*", step) for one, step in zip(mine, steps, strict=True))


def keys(model: type[Section] = Settings, above: str = "") -> Iterator[Key]:
    """Yield every key that holds a value of its own, and every mapping by name."""
    for name, field in model.model_fields.items():
        pattern = f"{above}{field.alias or name}"
        inner = next(_sections(field.annotation), None)
        entries = get_origin(field.annotation) is Mapping
        # a mapping that may be a word or a list instead, or not be there, is a key of its own beside those below it
        shape = bool(getattr(model, "words", ()))  # each of its keys is another shape of the whole
        optional = type(None) in getattr(field.annotation, "__args__", ()) and not shape
        if inner is None or entries or optional or getattr(inner, "words", ()) or "tuple[" in str(field.annotation):
            yield Key(pattern, field.annotation, entries)
        if inner is not None:
            yield from keys(inner, f"{pattern}.*." if entries else f"{pattern}.")


def paths(node: Any, above: str = "") -> Iterator[str]:
    """Yield the dotted path of every value of a stack file that is no mapping, or an empty one."""
    if isinstance(node, dict) and node:
        for key, value in node.items():
            yield from paths(value, f"{above}.{key}".lstrip("."))
    else:
        yield above


def _sections(annotation: Any) -> Iterator[type[Section]]:
    if isinstance(annotation, type) and issubclass(annotation, Section):
        yield annotation
    for argument in getattr(annotation, "__args__", ()):
        yield from _sections(argument)
