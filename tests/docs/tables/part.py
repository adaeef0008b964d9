"""A part of a page that a command makes: it stands between two comments."""

from collections.abc import Callable
from dataclasses import dataclass

from tests.harness import ROOT

COMMAND = ".venv/bin/python -m tests.docs.tables"
PAGES = ROOT / "docs"


@dataclass(frozen=True)
class Part:
    """Some lines of a page below docs/."""

    page: str
    name: str
    made: Callable[[], str]
    """Returns them."""

    @property
    def begin(self) -> str:
        return f"<!-- {self.name}: made by tests/docs/tables -->\n"

    @property
    def end(self) -> str:
        return f"<!-- end of {self.name} -->\n"

    def put(self, text: str) -> str:
        """Return the page with these lines as they should be.

        Raises:
            AssertionError: the page has no such part, or has it twice.
        """
        for mark in (self.begin, self.end):
            if text.count(mark) != 1:
                raise AssertionError(f"docs/{self.page}: expected once: {mark.strip()}")
        head, _, rest = text.partition(self.begin)
        return f"{head}{self.begin}\n{self.made()}\n{self.end}{rest.partition(self.end)[2]}"


def table(head: list[str], rows: list[list[str]]) -> str:
    """Return a table of Markdown, with a line break at its end."""
    lines = [head, ["---"] * len(head), *rows]
    return "".join(f"| {' | '.join(line)} |\n" if line[0] != "---" else f"|{'|'.join(line)}|\n" for line in lines)
