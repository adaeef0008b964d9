"""The table of rules in docs/policies.md, made of the rules: `PYTHONPATH=policies python -m tests.policies.table`."""

from collections.abc import Iterator
from itertools import groupby

from guardrails.pack import RULES
from tests.harness import ROOT

FILE = ROOT / "docs" / "policies.md"
COMMAND = "PYTHONPATH=policies .venv/bin/python -m tests.policies.table"
BEGIN, END = "<!-- rules: made by the command in tests/policies/table.py -->\n", "<!-- end of rules -->\n"


def theme(rule) -> str:
    """Return the package or module of a rule's check, below `guardrails`."""
    return rule.check.__module__.split(".")[1].replace("_", "-")


def table() -> str:
    """Return the table, a part for each theme."""
    return "\n".join(_lines())


def _lines() -> Iterator[str]:
    for name, rules in groupby(RULES, theme):
        yield f"### {name}\n"
        yield "| rule | what must hold | else | level | keys |"
        yield "|---|---|---|---|---|"
        for it in rules:
            keys = ", ".join(f"`{key}`" for key in it.config) or "-"
            yield f"| `{it.id}` | {it.says} | {it.why} ({it.source}) | {it.level} | {keys} |"
        yield ""


def document() -> str:
    """Return the page with its table as it should be."""
    text = FILE.read_text(encoding="utf-8")
    head, _, rest = text.partition(BEGIN)
    return f"{head}{BEGIN}\n{table()}\n{END}{rest.partition(END)[2]}"


if __name__ == "__main__":
    FILE.write_text(document(), encoding="utf-8")
