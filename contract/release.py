"""The schemas of all versions that were ever exported. They stay: each is what some program was written for."""

import json
import re
from collections.abc import Mapping
from pathlib import Path

from contract.compatibility import Schema, incompatible, shape
from outputs import VERSION, Platform

FOLDER = Path(__file__).with_name("released")
COMMAND = ".venv/bin/python -m contract"

Version = tuple[int, int]


def version(text: str) -> Version:
    """Return the two numbers of a version.

    Raises:
        ValueError: not two numbers with a dot between.
    """
    if not re.fullmatch(r"[0-9]+\.[0-9]+", text):
        raise ValueError(f"{text}: expected a version such as 1.0")
    first, _, second = text.partition(".")
    return int(first), int(second)


def spelled(number: Version) -> str:
    """Return the version as it is exported."""
    return f"{number[0]}.{number[1]}"


def current() -> Schema:
    """Return the schema of what `outputs.py` declares."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": f"outputs/{VERSION}.json",
        **Platform.model_json_schema(by_alias=True),
    }


def text(schema: Schema) -> str:
    """Return a schema's file."""
    return json.dumps(schema, indent=1) + "\n"


def released(folder: Path = FOLDER) -> Mapping[Version, Schema]:
    """Return every schema that was released, oldest first."""
    found = {version(path.stem): json.loads(path.read_text(encoding="utf-8")) for path in folder.glob("*.json")}
    return dict(sorted(found.items()))


def problems(now: Schema, named: Version, before: Mapping[Version, Schema]) -> list[str]:
    """Return why this schema cannot be the one of its version: a line for each reason.

    Args:
        now: what the program exports.
        named: the version that it gives it.
        before: every schema that was released.
    """
    if named in before:
        if shape(now) == shape(before[named]):
            return []
        broken = incompatible(before[named], now)
        step = (named[0] + 1, 0) if broken else (named[0], named[1] + 1)
        return [f"outputs are not those of {spelled(named)}; make VERSION {spelled(step)} in outputs.py", *broken]
    newest = max(before, default=None)
    allowed = [(newest[0], newest[1] + 1), (newest[0] + 1, 0)] if newest else [(1, 0)]
    if named not in allowed:
        return [f"VERSION {spelled(named)}; expected {' or '.join(map(spelled, allowed))}"]
    if newest is None or named[0] != newest[0]:
        return []
    broken = incompatible(before[newest], now)
    said = f"VERSION {spelled(named)} breaks readers of {spelled(newest)}; expected {spelled(allowed[1])}"
    return [said, *broken] if broken else []
