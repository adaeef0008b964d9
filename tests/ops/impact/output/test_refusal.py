"""A comment also when nothing can be compared: the reviewer reads which revision is wrong, and why."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from ops.impact.output.refusal import refusal
from tests.harness import ROOT
from tests.ops.impact.conftest import committed, run
from tests.ops.impact.plans import stack

LINES = ["the stack file has 2 mistakes:", "  network.cidr: ```wrong", '  servers.x.pool: "no"']


def comment(*lines):
    return "\n".join(
        [
            "### What this change does to stack `dev`",
            "",
            "**Not compared**, so nothing is known of this change:",
            "",
            "````text",
            *lines,
            "````",
            "",
        ]
    )


def rehearsal(folder, refuses):
    """A program that refuses its stack file when it is asked for this, and plans nothing special else."""
    (folder / "rehearsal.py").write_text(
        "import json, pathlib, sys\n"
        f"if sys.argv[1] == {refuses!r}:\n"
        f"    sys.exit({chr(10).join(LINES)!r})\n"
        f"pathlib.Path(sys.argv[sys.argv.index('--json') + 1]).write_text(json.dumps({stack()!r}))\n"
    )


@pytest.mark.parametrize(
    ("refuses", "exit_code", "first"),
    [
        ("preview", 1, "working tree is refused by its own program:"),
        ("up", 3, "cannot compare: main ({commit}) is refused by its own program:"),
    ],
    ids=["the change", "the base"],
)
def test_a_refused_stack_file_is_a_comment_that_quotes_the_refusal_and_names_the_revision(
    small, refuses, exit_code, first
):
    rehearsal(small, refuses)
    first = first.format(commit=committed(small)[:8])
    code, out, err = run("--base", "main")
    assert (code, out) == (exit_code, comment(first, *LINES))
    assert err.endswith("\n".join([first, *LINES, ""]))
    code, out, _ = run("--base", "main", "--json")
    assert (code, json.loads(out)) == (exit_code, {"stack": "dev", "refusal": "\n".join([first, *LINES])})


@pytest.mark.parametrize(
    ("file", "line", "said"),
    [
        ("settings.py", "x = nowhere", "settings.py:1: NameError: name 'nowhere' is not defined"),
        ("settings.py", "x = (", "settings.py:1: SyntaxError: '(' was never closed"),
        ("settings.py", "import nowhere", "settings.py:1: ModuleNotFoundError: No module named 'nowhere'"),
    ],
    ids=["name", "syntax", "module"],
)
@pytest.mark.parametrize("command", ["impact --base main", "cache ls", "preflight"])
def test_a_working_tree_that_cannot_be_loaded_gives_a_line_and_of_impact_a_comment(small, file, line, said, command):
    (small / file).write_text(f"{line}\n")
    done = subprocess.run(
        [sys.executable, "-m", "ops", *command.split()],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    why = f"the program in this folder cannot be loaded: {said}"
    assert (done.returncode, done.stderr) == (1, f"{why}\n")
    assert done.stdout == (comment(why).replace("````", "```") if command.startswith("impact") else "")


def test_nothing_in_a_refusal_ends_its_block():
    block = refusal("dev", "a\n`````\nb\x1b[31m")
    assert block.splitlines()[4:] == ["``````text", "a", "`````", "b [31m", "``````"]
