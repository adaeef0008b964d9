"""A result is not lost when standard error is full or closed."""

import json
import subprocess
import sys

import pytest

from tests.harness import ROOT

LOG = ROOT.parent / "shared" / "facts" / "logs" / "warm2.log"


def parsed(file: object, where: str) -> tuple[int, str]:
    command = f'exec "$1" -m ops coldstart parse "$2" --json {where}'
    whole = ["sh", "-c", command, "sh", sys.executable, str(file)]
    done = subprocess.run(whole, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=False)
    return done.returncode, done.stdout


@pytest.mark.parametrize("where", ["2>/dev/full", "2>&-"])
def test_a_result_and_an_exit_code_come_although_nobody_can_be_told_more(where: str) -> None:
    code, out = parsed(LOG, where)
    assert (code, json.loads(out)["compile"]) == (0, "hit")
    assert parsed("README.md", where) == (3, "")
