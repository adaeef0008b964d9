"""The Markdown pages of the project, and the blocks of commands in them.

Commands stand in blocks fenced as `sh`. `<!-- offline -->` above one says that it needs no cloud and leaves the
checkout as it is: such a block is run. `<!-- offline: exit 1 -->`: with that code.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from markdown_it import MarkdownIt
from markdown_it.token import Token

from tests.harness import ROOT

PAGES = sorted(
    path
    for pattern in ("*.md", "docs/**/*.md", "examples/**/*.md", ".github/**/*.md")
    for path in ROOT.glob(pattern)
    if ".venv" not in path.parts
)

_MARK = re.compile(r"<!-- offline(?:: exit (\d+))? -->\s*")


@dataclass(frozen=True)
class Block:
    """A block of code of a page."""

    page: Path
    line: int
    """Of its first line in the page, from 1."""
    language: str
    """Empty: indented, or fenced without a word."""
    text: str
    code: int | None
    """The exit code with which it ends offline; None: not marked as such."""

    def __str__(self) -> str:
        return f"{self.page.relative_to(ROOT)}:{self.line}"


def blocks(page: Path, text: str) -> Iterator[Block]:
    """Yield the blocks of a page, those inside quotes and lists too."""
    before: Token | None = None
    for token in MarkdownIt("commonmark").parse(text):
        if token.type in {"fence", "code_block"}:
            begin = (token.map or [0])[0] + 1
            mark = _MARK.fullmatch(before.content) if before and before.type == "html_block" else None
            code = int(mark[1] or 0) if mark else None
            yield Block(page, begin + (token.type == "fence"), token.info.strip(), token.content, code)
        before = token


@cache
def all_blocks() -> tuple[Block, ...]:
    """Return the blocks of all pages."""
    return tuple(block for page in PAGES for block in blocks(page, page.read_text(encoding="utf-8")))


def marks(text: str) -> int:
    """Count what looks like a mark, whether a block follows it or not."""
    return len(re.findall(r"<!--\s*offline", text))
