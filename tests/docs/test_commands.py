"""Every command of the pages exists, and those that need no cloud do what they say."""

import re
from pathlib import Path

import pytest

from tests.docs import checkout
from tests.docs.commands import PROGRAMS, UnknownCommandError, check, commands
from tests.docs.pages import PAGES, all_blocks, blocks, marks

SHELL = [block for block in all_blocks() if block.language == "sh"]
OFFLINE = [block for block in SHELL if block.code is not None]
FIRST = re.compile(rf"\s*(?:\.venv/bin/python|{'|'.join(PROGRAMS)}) ")


@pytest.mark.parametrize("block", SHELL, ids=str)
def test_each_command_is_one_that_its_program_takes(block):
    said = []
    asked = list(commands(block.text))
    assert asked, block.text
    for argv in asked:
        try:
            check(argv)
        except UnknownCommandError as error:
            said.append(str(error))
    assert said == []


def test_commands_stand_in_blocks_of_sh():
    """Else nobody looks at them."""
    elsewhere = [str(block) for block in all_blocks() if block.language != "sh" and FIRST.match(block.text)]
    assert elsewhere == []


def test_a_mark_stands_right_above_a_block_of_commands():
    marked = dict.fromkeys(PAGES, 0)
    for block in OFFLINE:
        marked[block.page] += 1
    assert marked == {page: marks(page.read_text(encoding="utf-8")) for page in PAGES}


@pytest.fixture(scope="module")
def copy(tmp_path_factory):
    return checkout.made(tmp_path_factory.mktemp("checkout"))


@pytest.mark.parametrize("block", OFFLINE, ids=str)
def test_what_is_marked_offline_runs_with_no_cloud_and_leaves_the_checkout_alone(block, copy, monkeypatch):
    for name in ("AWS_PROFILE", "AWS_ACCESS_KEY_ID", "KUBECONFIG", "PULUMI_ACCESS_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    done = checkout.run(copy, block.text)
    assert (done.returncode, checkout.changed(copy)) == (block.code, ""), done.stdout[-2000:] + done.stderr[-2000:]


def test_offline_blocks_are_found():
    """No fewer than there were: a fence that loses its mark is no longer run."""
    assert len(OFFLINE) >= 20


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("ops statsu", "ops: no command 'statsu'"),
        ("ops cache", "ops cache: no command ''"),
        ("ops cache build --sever gemma", "ops cache build: No such option: --sever"),
        ("ops try --server", "ops try: Option '--server' requires an argument."),
        ("ops impact", "ops impact: too much [], missing ['base']"),
        ("ops status gemma", "ops status: too much ['gemma'], missing []"),
        (".venv/bin/python -m ops wakeup", "ops: no command 'wakeup'"),
        (
            ".venv/bin/python -m rehearsal preview --stack dev --stak dev",
            "python -m rehearsal: error: unrecognized arguments: --stak dev",
        ),
        (".venv/bin/python -m rehersal", ".venv/bin/python -m rehersal: no such module or file"),
        (".venv/bin/python benchmark/ladder.py", ".venv/bin/python benchmark/ladder.py: no such module or file"),
        ("make tests", "make tests: no such target"),
        ("pulumi prevew", "pulumi prevew: no such command"),
        ("pulumi config st --secret x", "pulumi config st --secret x: no such command"),
        ("pulumi preview --police-pack policies", "pulumi preview: no option --police-pack"),
        ("aws iam create-service-linked-rol", "aws iam create-service-linked-rol: no such operation"),
        (
            "aws iam create-service-linked-role --service x",
            "aws iam create-service-linked-role: no option --service",
        ),
        ("kubectl gte pods", "kubectl gte pods: no known verb"),
        ("terraform apply", f"terraform: no program that the pages may name ({', '.join(PROGRAMS)})"),
    ],
)
def test_a_command_that_is_wrong_is_told(command, message):
    (argv,) = commands(command)
    with pytest.raises(UnknownCommandError) as refused:
        check(argv)
    assert str(refused.value) == message


def test_a_block_is_read_as_a_shell_reads_it():
    text = """
A=1 ops status [--check] | cat > out.txt; make preview STACK=dev && ops impact \\
  --base "$(git merge-base origin/main HEAD)" 2>&1   # said
ops weights onboard --repository <owner>/<name> < in.txt
"""
    assert list(commands(text)) == [
        ("ops", "status", "--check"),
        ("cat",),
        ("make", "preview", "STACK=dev"),
        ("ops", "impact", "--base", "$(git merge-base origin/main HEAD)", "2"),
        ("ops", "weights", "onboard", "--repository", "owner/name"),
    ]


def test_blocks_are_found_where_they_stand():
    page = Path("page.md")
    text = "<!-- offline: exit 3 -->\n```sh\nops status\n```\n\n> ```text\n> no\n> ```\n\n    indented\n\n"
    text += "<!-- offline -->\n\nx"
    found = [(it.line, it.language, it.text, it.code) for it in blocks(page, text)]
    assert found == [(3, "sh", "ops status\n", 3), (7, "text", "no\n", None), (10, "", "indented\n", None)]
    assert marks(text) == 2
