"""Messages of our own programs that a page quotes, and all texts that the programs can print.

A quote is a line of a fence that begins with three backticks and `said`. `...` stands for whatever the program puts
there. It is a true one when a text of the source has its parts one after another, and no value where it has words.
"""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from tests.docs.tables.part import PAGES
from tests.harness import ROOT

SAYING = ("infra", "serving", "ops", "rehearsal", "policies", "checks.py", "settings.py", "outputs.py", "__main__.py")
"""Where messages are made."""

VALUE = "\0"
"""In the place of what a text is filled with."""

FENCE = re.compile(r"^```said\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LEAST = 12
"""Signs of a quote beside `...`: fewer would be found anywhere."""


def quotes(text: str) -> list[str]:
    """Return the quoted lines of a page."""
    return [line for block in FENCE.findall(text) for line in block.splitlines() if line.strip()]


def pages() -> Iterator[tuple[str, str]]:
    """Yield (page, quote) of all pages."""
    for path in [ROOT / "README.md", *sorted(PAGES.rglob("*.md"))]:
        for quote in quotes(path.read_text(encoding="utf-8")):
            yield str(path.relative_to(ROOT)), quote


def said(quote: str, texts: frozenset[str] | None = None) -> bool:
    """Whether a text of the programs has the parts of a quote."""
    parts = quote.split("...")
    if sum(len(part) for part in parts) < LEAST:
        return False
    pattern = re.compile(".*".join(map(re.escape, parts)), re.DOTALL)
    return any(pattern.search(text) for text in (texts or sources()))


@cache
def sources() -> frozenset[str]:
    """Return every text in the programs' sources."""
    found: set[str] = set()
    for name in SAYING:
        top = ROOT / name
        for path in sorted(top.rglob("*")) if top.is_dir() else [top]:
            if path.suffix == ".py":
                found |= set(_texts(path))
            elif path.suffix == ".sh":
                found |= set(path.read_text(encoding="utf-8").splitlines())
    return frozenset(found)


def _texts(path: Path) -> Iterator[str]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    # what explains the program is not said by it
    explaining = {
        id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in explaining:
            yield node.value
        elif isinstance(node, ast.JoinedStr):
            yield "".join(it.value if isinstance(it, ast.Constant) else VALUE for it in node.values)
