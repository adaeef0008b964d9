"""`make parser-check` fails for whatever a version of vLLM does not take, and says which line it was."""

from collections.abc import Sequence

import pytest

from serving.arguments import ENGINES
from tests.parser_check import __main__ as check
from tests.parser_check.faults import FAULTS
from tests.parser_check.log_texts import missing, wanted
from tests.serving.arguments.command_lines import CommandLine
from tests.serving.arguments.reader import MisreadError, read

LINES = [CommandLine(engine, f"dev/gemma g7e.2xlarge {engine}", ("/models", "--seed=1")) for engine in ENGINES]


@pytest.fixture
def run(monkeypatch, tmp_path, capsys):
    """Run the check with the answers of an imagined vLLM; returns exit code, output, and whether it left its stamp."""

    def main(*arguments: str, **answers: object) -> tuple[int, str, bool]:
        monkeypatch.setattr(check, "PASSED", tmp_path / "passed.txt")
        monkeypatch.setattr(check, "command_lines", lambda: LINES)
        monkeypatch.setattr("sys.argv", ["parser_check", *arguments])

        def verdict(_engine: str, lines: Sequence[CommandLine]) -> check.Verdict:
            given = {"refused": [], "taken": [], "same_table": True, "unprinted": [], **answers}
            if given["refused"]:
                given["refused"] = [(lines[0], "unrecognized arguments: --seed=1\n")]
            return check.Verdict(**given)

        monkeypatch.setattr(check, "verdict", verdict)
        code = check.main()
        return code, capsys.readouterr().out, check.PASSED.exists()

    return main


def test_it_passes_and_leaves_its_stamp_when_all_is_well(run) -> None:
    code, said, stamped = run()
    assert (code, stamped) == (0, True)
    assert said.splitlines()[:2] == [
        f"parser-check: vLLM {engine}: 1 of 1 command lines accepted, {len(FAULTS)} of {len(FAULTS)} faults refused,"
        f" argument table as its parser has it, {len(wanted(engine))} of {len(wanted(engine))} lines of the log"
        " parsers in its source"
        for engine in ENGINES
    ]


def test_a_refused_line_fails_it_and_is_shown(run) -> None:
    code, said, stamped = run(refused=True)
    assert (code, stamped) == (1, False)
    assert "0 of 1 command lines accepted" in said
    assert (
        "  dev/gemma g7e.2xlarge 0.26.0: vllm serve /models --seed=1\n    unrecognized arguments: --seed=1\n"
    ) in said


def test_a_fault_that_is_taken_fails_it(run) -> None:
    code, said, stamped = run(taken=["an unknown flag"])
    assert (code, stamped) == (1, False)
    assert "  NOT REFUSED: an unknown flag: vllm serve /models --no-such-flag\n" in said


def test_a_table_that_is_not_the_parsers_fails_it(run) -> None:
    code, said, stamped = run(same_table=False)
    assert (code, stamped) == (1, False)
    assert "  make serving/arguments/0.26.0.json again: see serving/arguments/dump.py\n" in said


def test_a_line_that_no_engine_prints_fails_it(run) -> None:
    code, said, stamped = run(unprinted=["captured: Graph capturing finished in "])
    assert (code, stamped) == (1, False)
    assert "  NEVER PRINTED: captured: Graph capturing finished in \n" in said


SOURCE = """
logger.info_once(
    "%s KV cache size: %s tokens, "
    "Maximum concurrency for %s tokens per request: %.2fx", pools)
lgr.info(Template("\\n ${o}x${r}  version ${w}%s${r}\\n"))
logger.info("%storch.compile took %.2f s", tag)
"""


def test_lines_are_found_as_a_source_prints_them(tmp_path) -> None:
    (tmp_path / "core.py").write_text(SOURCE.replace("x$", "\u2588$"))
    left = missing("0.33.0", tmp_path)
    found = {name for name in wanted("0.33.0") if name not in left}
    # what follows `took` is not what the parser reads
    assert found == {"cache sized:  KV cache size: ", "version:   version "}


def test_it_does_nothing_while_all_is_as_it_last_passed(run) -> None:
    assert run("--if-changed")[0] == 0
    code, said, _ = run("--if-changed", refused=True)
    assert code == 0
    assert said == (
        "parser-check: command lines and tables are those of the last pass"
        f" ({check.digest(LINES)[:12]}): not run again\n"
    )


def test_another_command_line_is_another_digest() -> None:
    one, other = LINES
    changed = CommandLine(one.engine, one.label, ("/models", "--seed=2"))
    assert check.digest([changed, other]) != check.digest(LINES)
    assert check.digest([CommandLine(one.engine, "another label", one.items), other]) == check.digest(LINES)


@pytest.mark.parametrize("engine", ENGINES)
def test_every_fault_is_of_one_flag_or_value_and_the_rest_of_its_line_is_right(engine: str) -> None:
    """The faults that the tables alone can show are refused by their reader too."""
    beyond = {
        name for name in FAULTS if "loader" in name or name.startswith(("an unknown", "the engine")) or "memory" in name
    }
    for name in FAULTS.keys() - beyond:
        with pytest.raises(MisreadError):
            read(engine, list(FAULTS[name][0]))
