"""The table of outputs in docs/application-teams.md, made of the schemas."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from contract.compatibility import Schema
from contract.release import Version, spelled

FILE = Path(__file__).parents[1] / "docs" / "application-teams.md"
BEGIN, END = "<!-- outputs: made by python -m contract -->\n", "<!-- end of outputs -->\n"


def document(page: str, schemas: Mapping[Version, Schema]) -> str:
    """Return the page with its table as it should be.

    Args:
        page: as it is.
        schemas: of all releases, the current one last.
    """
    head, _, rest = page.partition(BEGIN)
    return f"{head}{BEGIN}\n{table(schemas)}\n{END}{rest.partition(END)[2]}"


def table(schemas: Mapping[Version, Schema]) -> str:
    """Return a row for each output, and since which version it is there."""
    since: dict[str, str] = {}
    for number, schema in schemas.items():
        for path, _ in _rows("", schema, schema.get("$defs", {})):
            since.setdefault(path, spelled(number))
    newest = schemas[max(schemas)]
    lines = ["| output | since | may be missing | what |", "|---|---|---|---|"]
    for path, node in _rows("", newest, newest.get("$defs", {})):
        said, missing = " ".join(node["description"].split()), "yes" if "default" in node else "-"
        lines.append(f"| `{path}` | {since[path]} | {missing} | {said} |")
    return "\n".join(lines) + "\n"


def _rows(above: str, node: Schema, definitions: Mapping[str, Any]) -> Iterator[tuple[str, Schema]]:
    """Yield each output below a node with its schema; `*` stands for a name that the stack chooses."""
    for name, inner in node.get("properties", {}).items():
        path = f"{above}.{name}".lstrip(".")
        steps, held = _held(inner, definitions)
        # what a mapping of objects holds is said by the object
        said = inner.get("description") or held.get("description", "")
        yield path, {**inner, "description": said}
        yield from _rows(path + steps, held, definitions)


def _held(node: Schema, definitions: Mapping[str, Any]) -> tuple[str, Schema]:
    """Return the innermost schema, and the steps to it."""
    if "$ref" in node:
        return "", definitions[node["$ref"].rpartition("/")[2]]
    for option in node.get("anyOf", ()):
        if option.get("type") != "null":
            return _held(option, definitions)
    if isinstance(node.get("additionalProperties"), Mapping):
        steps, held = _held(node["additionalProperties"], definitions)
        return f".*{steps}", held
    return "", node
