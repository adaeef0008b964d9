"""One command of `ops` for each server of a stack, as a release asks it where nobody is there to name them."""

import subprocess
import sys
from collections.abc import Sequence

from ops.review.rehearse import worst
from ops.stack.stack_file import Stack


def candidates(stack: Stack) -> list[str]:
    """Return the servers that have a candidate."""
    return sorted(name for name, it in stack.settings.servers.items() if it.candidate is not None)


def build(stack: str, server: str) -> list[str]:
    """Return the command that builds the cache of a server's candidate. One that is there is no failure."""
    return ["cache", "build", "--server", server, "--stack", stack, "--candidate", "--yes"]


def ask(stack: str, server: str) -> list[str]:
    """Return the command that asks a server one thing."""
    return ["try", "--server", server, "--stack", stack]


def each(commands: Sequence[Sequence[str]], more: Sequence[str] = ()) -> int:
    """Run commands one after the other, also after one that failed, and return the worst exit code."""
    return worst(_ran([*command, *more]) for command in commands)


def _ran(arguments: Sequence[str]) -> int:
    done = subprocess.run([sys.executable, "-m", "ops", *arguments], check=False)  # noqa: S603 - this Python, no shell
    return done.returncode
