"""The programs that run in pods, as files of a ConfigMap.

`serving/scripts/` is split by subject, and flat in the pod: the keys of a ConfigMap are plain names. So modules import
each other by plain name, no two of them share one, and pyproject.toml lists the folders for the tools.
"""

import ast
import hashlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Literal

Program = Literal["restore", "wrapper", "ready", "build", "onboard", "verify"]

SCRIPTS = Path(__file__).parent / "scripts"


def files(*programs: Program) -> Mapping[str, str]:
    """Return the text by file name of the programs and of every module of ours that they import, directly or not."""
    modules = {path.stem: path for path in SCRIPTS.glob("*/*.py")}
    found: dict[str, str] = {}
    wanted = set[str](programs)
    while wanted:
        name = wanted.pop()
        found[name] = modules[name].read_text(encoding="utf-8")
        wanted |= set(_imported(found[name])) & modules.keys() - found.keys()
    return {f"{name}.py": found[name] for name in sorted(found)}


def config_map_name(label: str, content: Mapping[str, str]) -> str:
    """Return a name that changes with the content: a pod has the programs of its own rollout, also when it restarts."""
    digest = hashlib.sha256("\0".join(part for item in sorted(content.items()) for part in item).encode())
    return f"{label}-{digest.hexdigest()[:10]}"


def _imported(source: str) -> Iterator[str]:
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
