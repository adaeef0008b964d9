"""Every line that the log parsers know, looked for in the source of the engine that is to print it.

The parsers of a start's phases (`ops coldstart`) and of a cache hit (in the build's pod) know texts; a text that no
format string of a version has would never be seen, and its phase would silently be missing.
"""

import ast
import itertools
import re
from collections.abc import Iterator
from pathlib import Path

from ops.coldstart.log.markers import VERSIONS
from ops.programs import ENGINE_TEXTS

PLACES = re.compile(r"%[.\d]*[sdfr]|\{[^{}]*\}")
COLOURS = re.compile(r"\$\{\w\}")


def wanted(version: str) -> dict[str, tuple[str, re.Pattern[str]]]:
    """By name: a text of the format string, and what must match the line that is made of it."""
    found = {
        f"{name}: {text}": (text, marker.message)
        for name, marker in VERSIONS[version].items()
        if not marker.uvicorn
        for text in marker.texts
    }
    texts = ENGINE_TEXTS[version]
    for pattern in (*texts.hits, *texts.misses, *texts.failures):
        text = pattern.replace("\\", "")
        found[f"cache: {text}"] = (text, re.compile(f".*{pattern}"))
    found["cache: directory"] = ("for vLLM's torch.compile", re.compile(f".*{texts.cache_directory}"))
    return found


def missing(version: str, source: Path) -> list[str]:
    """The texts of a version that none of its format strings prints so that the parser knows the line."""
    left = wanted(version)
    beginnings = {text[:12].encode() for text, _ in left.values()} | {b"KV cache size"}
    for path in source.rglob("*.py"):
        content = path.read_bytes()
        if not any(it in content for it in beginnings):
            continue
        for constant in _constants(content):
            for name, (text, pattern) in list(left.items()):
                if text in constant and any(pattern.match(line) for line in _lines(constant)):
                    del left[name]
    return sorted(left)


def _constants(content: bytes) -> Iterator[str]:
    """Yield the texts of a module; those that stand one after another are one."""
    for node in ast.walk(ast.parse(content)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value


def _lines(constant: str) -> Iterator[str]:
    """Yield the lines that a format string makes. In 0.33 a `%s` at its beginning is a tag, mostly empty."""
    for line in COLOURS.sub("", constant).split("\n"):
        for tag, value in itertools.product(("", "GPU"), ("7", "7.7.7")):
            yield PLACES.sub(value, tag + line[2:] if line.startswith("%s") else line)
