"""Property paths: `vpcConfig.subnetIds[0]`, `metadata.annotations["pulumi.com/autonamed"]`.

The syntax is that of `resource.PropertyPath` (`sdk/go/common/resource/property_path.go`, pulumi 3.274).
"""

from __future__ import annotations

import re
from typing import Any

Path = tuple[str | int, ...]
"""Steps from the property bag down to a value: keys of objects, indexes of lists."""

ANY = "*"
"""A step that stands for every key and every index."""

_STEP = re.compile(r'\[(?P<index>\d+|\*)\]|\["(?P<quoted>(?:[^"\\]|\\.)*)"\]|\.?(?P<key>[^.\[\]]+)')


def parse(text: str) -> Path:
    """The steps of `text`. Raises ValueError when it is not a property path."""
    steps: list[str | int] = []
    at = 0
    while at < len(text):
        found = _STEP.match(text, at)
        if found is None:
            raise ValueError(f"{text!r} is not a property path")
        if found["index"] is not None:
            steps.append(ANY if found["index"] == ANY else int(found["index"]))
        elif found["quoted"] is not None:
            steps.append(found["quoted"].replace('\\"', '"'))
        else:
            steps.append(found["key"])
        at = found.end()
    return tuple(steps)


def written(path: Path) -> str:
    """`path` as text."""
    text = ""
    for step in path:
        if isinstance(step, int):
            text += f"[{step}]"
        elif re.search(r'[."\[\]]', step):
            quoted = step.replace('"', '\\"')
            text += f'["{quoted}"]'
        else:
            text += f".{step}" if text else step
    return text


def is_within(path: Path, pattern: Path) -> bool:
    """Whether `path` is the place that `pattern` names, or lies below it."""
    return len(path) >= len(pattern) and _agree(path, pattern)


def holds(path: Path, value: Any, pattern: Path) -> bool:
    """Whether `value`, which is at `path`, has something at the deeper place that `pattern` names."""
    return len(pattern) > len(path) and _agree(path, pattern) and _found(value, pattern[len(path) :])


def _agree(path: Path, pattern: Path) -> bool:
    # strict=False: only the shorter one's steps are compared
    return all(theirs in (ours, ANY) for ours, theirs in zip(path, pattern, strict=False))


def _found(value: Any, steps: Path) -> bool:
    if not steps:
        return value is not None
    first, rest = steps[0], steps[1:]
    if isinstance(value, dict):
        inner = list(value.values()) if first == ANY else [value[first]] if first in value else []
    elif isinstance(value, list):
        inner = value if first == ANY else []
    else:
        inner = []
    return any(_found(item, rest) for item in inner)


def get(properties: Any, path: Path) -> Any:
    """The value at `path`; None when there is none."""
    for step in path:
        if isinstance(properties, dict):
            properties = properties.get(step)
        elif isinstance(properties, list) and isinstance(step, int) and step < len(properties):
            properties = properties[step]
        else:
            return None
    return properties
