"""Links of the pages lead somewhere."""

import re
from functools import cache
from pathlib import Path
from urllib.parse import unquote

import pytest
from markdown_it import MarkdownIt

from tests.docs.pages import PAGES
from tests.harness import ROOT


@cache
def anchors(page: Path) -> frozenset[str]:
    """What GitHub makes of the headings."""
    tokens = MarkdownIt("commonmark").parse(page.read_text(encoding="utf-8"))
    texts = [tokens[at + 1].content for at, it in enumerate(tokens) if it.type == "heading_open"]
    return frozenset(re.sub(r"[^\w\- ]", "", text.lower()).strip().replace(" ", "-") for text in texts)


def links(page: Path) -> list[str]:
    tokens = MarkdownIt("commonmark").enable("table").parse(page.read_text(encoding="utf-8"))
    inner = [child for token in tokens for child in token.children or []]
    found = [str(it.attrGet("href") or it.attrGet("src")) for it in inner if it.type in {"link_open", "image"}]
    raw = "".join(it.content for it in [*tokens, *inner] if it.type in {"html_block", "html_inline"})
    return found + re.findall(r'(?:src|srcset|href)="([^"]+)"', raw)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_between_pages_lead_to_what_is_there(page):
    broken = []
    for link in links(page):
        if re.match(r"[a-z]+:", link):
            continue
        path, _, anchor = unquote(link).partition("#")
        target = (page.parent / path).resolve() if path else page
        if not target.exists() or (anchor and target.suffix == ".md" and anchor not in anchors(target)):
            broken.append(link)
    assert broken == []


def test_every_page_can_be_reached_from_the_first():
    reached, new = set(), {ROOT / "README.md"}
    while new:
        reached |= new
        linked = {(page.parent / unquote(link).partition("#")[0]).resolve() for page in new for link in links(page)}
        folders = {page for folder in linked if folder.is_dir() for page in folder.glob("*.md")}
        new = {path for path in linked | folders if path in PAGES} - reached
    assert {str(page.relative_to(ROOT)) for page in set(PAGES) - reached} == set()
