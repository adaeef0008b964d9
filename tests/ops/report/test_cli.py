"""The commands: files in, a page, Markdown and figures out, and a line where that cannot be."""

import json
from pathlib import Path

import pytest

from ops.coldstart.reading import records
from ops.failures import UsageError
from tests.ops.report.article import ladder, record, repeated

READING = "measured starts: reading 1 file (0 s)\n"


def test_a_page_markdown_and_figures_are_written_in_one_go(ops, file):
    code, out, err = ops("report", file(ladder()), "--html", "r.html", "--markdown", "r.md", "--title", "A <title>")
    assert (code, err) == (0, READING)
    assert out.splitlines()[:3] == [
        "gemma-4-31b-it-nvfp4/r1 \u00b7 vLLM 0.26.0 \u00b7 g7e.2xlarge \u00b7 spot \u00b7 ap-northeast-2",
        "",
        "Fresh node",
    ]
    assert "<title>A &lt;title&gt;</title>" in Path("r.html").read_text()
    assert Path("r.md").read_text().startswith("## A <title>\n\n9 starts, 2026-08-30.\n")


def test_commands_are_summed_up_in_a_line_that_is_whole(ops):
    """Typer cuts what is longer."""
    assert "..." not in ops("--help")[1].partition("Commands:\n")[2]


def test_markdown_on_standard_output_is_alone_there(ops, file):
    code, out, _ = ops("report", file(ladder()), "--markdown", "-")
    assert code == 0
    assert out.startswith("## Cold start report\n")
    assert "configuration  n" not in out


def test_json_has_what_the_page_shows(ops, file):
    code, out, _ = ops("report", file(ladder()), "--json")
    (setting,) = json.loads(out)["settings"]
    assert code == 0
    assert [it["name"] for it in setting["configurations"]] == ["step-0", "step-1", "step-2", "step-4", "step-5"]
    (first, *_) = setting["configurations"][0]["runs"]
    assert first["phases"]["weights"] == {"median": 127.6, "min": 127.6, "max": 127.6, "n": 1}
    assert first["predicted"]["phases"]["weights"] == {"seconds": 127.6, "evidence": "measured"}
    restart = next(it for it in setting["comparisons"] if it["start"] == "restart")
    assert restart["rows"][2]["againstRowBefore"] == {"seconds": -71, "share": -0.348, "withinProbePeriod": False}


def test_a_start_that_is_in_two_files_counts_once(ops, file):
    one, other = file(ladder()), file(ladder()[:2], "copy.jsonl")
    code, out, err = ops("report", one, other, "--json")
    assert (code, json.loads(out)["starts"]) == (0, 9)
    assert err == "measured starts: reading 2 files (0 s)\n2 lines twice: counted once\n"


def test_starts_of_logs_without_times_are_no_copies(ops, file):
    logs = [record("step-1", "restart", "none", {"imports": 1.0}, 2, source="logs", ready=None, began=None)] * 2
    assert json.loads(ops("report", file(logs), "--json")[1])["starts"] == 2


def test_standard_input_is_a_file(ops, file):
    given = "\n".join(it.line() for it in ladder())
    assert json.loads(ops("report", "-", "--json", given=given)[1])["starts"] == 9


def test_no_start_writes_the_page_all_the_same_and_is_1(ops, file):
    code, out, err = ops("report", file([]), "--html", "r.html")
    assert (code, out, err) == (1, "No start was measured.\n", f"{READING}no start in starts.jsonl\n")
    assert "No start was measured." in Path("r.html").read_text()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("nowhere",), f"{READING}nowhere: No such file or directory\n"),
        (
            ("starts.jsonl", "--html", "starts.jsonl"),
            "--html starts.jsonl: is one of the files to read; expected another name\n",
        ),
        (("starts.jsonl", "--html", "no/where.html"), "--html no/where.html: no such folder; expected a file\n"),
        (("starts.jsonl", "--markdown", "."), "--markdown .: a folder; expected a file\n"),
        (("starts.jsonl", "--html", "r", "--markdown", "r"), "--html and --markdown r: one file each\n"),
        (("starts.jsonl", "--json", "--markdown", "-"), "--json and --markdown -: one of both on standard output\n"),
        (("starts.jsonl", "--html", "r", "--markdown", "./r"), "--html and --markdown r: one file each\n"),
        (("starts.jsonl", "--html", "-"), "--html -: no page goes to standard output; expected a file\n"),
        (("starts.jsonl", "--html", ""), "Error: Invalid value for '--html': empty\n"),
    ],
)
def test_usage_is_2_and_no_file_is_touched(ops, file, arguments, said):
    before = Path(file(ladder())).read_text()
    code, out, err = ops("report", *arguments)
    assert (code, out) == (2, "")
    assert err.endswith(said)
    assert [it.name for it in Path().iterdir()] == ["starts.jsonl"]
    assert Path("starts.jsonl").read_text() == before


def test_a_file_of_something_else_is_3(ops, file):
    Path(file(ladder())).write_text('{"a": 1}\n')
    code, _, err = ops("report", "starts.jsonl")
    assert (code, err) == (3, f"{READING}starts.jsonl:1: not a measured start: start: Field required\n")
    Path("starts.jsonl").write_bytes(b"\xff\xfe")
    said = "starts.jsonl: not a file of measured starts: not UTF-8\n"
    assert ops("report", "starts.jsonl")[::2] == (3, f"{READING}{said}")


def test_closed_standard_input_is_said(monkeypatch):
    monkeypatch.setattr("sys.stdin", None)
    with pytest.raises(UsageError, match=r"^-: standard input is closed$"):
        records(["-"])


def test_long_names_are_whole_in_the_result_and_move_no_cursor(ops, file):
    long = {"stack": "x" * 200, "server": "a\nb\x1b[2J"}
    starts = [record("step-0", "restart", "none", {"imports": 3.0}, 5, subject=it) for it in ({}, long)]
    out = ops("report", file(starts))[1]
    assert f"step-0 (stack {'x' * 200}, server a\\nb\\x1b[2J)" in out
    model = {"model": f"s3://{'m' * 200}/"}
    out = ops("refit", file([record("step-0", "restart", "none", {"imports": 3.0}, 5, subject=model)]))[1]
    assert f"model s3://{'m' * 200}/" in out


def test_refit_of_nothing_prints_nothing(ops, file):
    assert ops("refit", file([])) == (1, "", f"{READING}no start that counts in starts.jsonl\n")
    assert ops("refit", "starts.jsonl", "--json")[:2] == (1, "[]\n")


def test_refit_prints_measured_beside_predicted(ops, file):
    code, out, _ = ops("refit", file(repeated()))
    rows = [line.split() for line in out.splitlines()]
    assert code == 0
    assert ["fresh", "node", "weights", "streaming-loader", "-107.8", "-107.8", "3.1", "19", "4"] in rows
    assert ["restart", "compile", "node-cache", "-44.5", "-44.4", "1.2", "15", "3"] in rows
    assert out.splitlines()[-2:] == ["left out: 1 after a restart of the engine", "left out: 15 load runs"]


def test_refit_of_load_runs_alone_is_1(ops, file):
    loads = [it for it in ladder() if it.role == "load"]
    code, out, err = ops("refit", file(loads))
    assert (code, err) == (1, f"{READING}no start that counts in starts.jsonl\n")
    assert "no start that counts\nleft out: 3 load runs" in out
