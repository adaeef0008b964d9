"""A log and the API's dumps of one start, as files."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.ops.coldstart.log import engine
from tests.ops.coldstart.log.engine import dressed, start


@pytest.fixture
def log(folder: Path) -> Callable[..., str]:
    """`log("name", lines)`: a file, by default of a warm start with kubectl's stamps."""

    def write(name: str = "engine.log", lines: Sequence[str] | None = None) -> str:
        text = "\n".join(lines if lines is not None else dressed(start("0.33.0"), engine.runtime))
        (folder / name).write_text(f"{text}\n")
        return name

    return write


@pytest.fixture
def dump(folder: Path) -> Callable[..., str]:
    """`dump("name", objects)`: what kubectl writes of several objects."""

    def write(name: str, *objects: Any) -> str:
        (folder / name).write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": list(objects)}))
        return name

    return write
