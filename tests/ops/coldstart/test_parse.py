"""`ops coldstart parse`: the starts in logs that somebody has."""

import json
import os
import threading
import time
from pathlib import Path

import pytest

from ops.coldstart.parse import parsed
from ops.coldstart.record import read
from ops.coldstart.shown import Sink
from tests.harness import ROOT
from tests.ops.coldstart.log import engine
from tests.ops.coldstart.log.engine import Said, dressed, start

LOGS = ROOT.parent / "shared" / "facts" / "logs"


def test_measured_logs_come_out_for_people_and_as_records(ops, folder):
    cold, warm = str(LOGS / "cold1.log"), str(LOGS / "warm2.log")
    code, out, _ = ops("coldstart", "parse", cold, warm, "--output", "starts.jsonl")
    assert code == 0
    assert f"{cold}: restart, vLLM 0.26.0; caches: load, compile: miss, image: unknown" in out.splitlines()
    assert "  kernels              103.2 s" in out.splitlines()
    found = list(read("x", (folder / "starts.jsonl").read_text().splitlines()))
    assert [(it.role, it.total, it.source) for it in found] == [("load", 222.507, "logs"), ("hit", 59.923, "logs")]
    code, out, _ = ops("coldstart", "parse", cold, warm, "--json")
    assert list(read("x", out.splitlines())) == found
    # what one command writes another one reads
    assert ops("coldstart", "report", "starts.jsonl")[0] == 0


def test_standard_input_is_a_log(ops):
    code, out, _ = ops("coldstart", "parse", "-", "--json", given=(LOGS / "warm2.log").read_text())
    assert (code, json.loads(out)["compile"]) == (0, "hit")


def test_servers_start_is_known_by_its_stack_file(ops, log):
    restored = 'cache-restore: outcome=hit restored=fingerprint bytes=1 files=1 seconds=1.000 reason=""'
    lines = [f"[pod/gemma-1/cache] {restored}", *dressed(start("0.33.0"), engine.pods)]
    code, out, _ = ops("coldstart", "parse", log(lines=lines), "--server", "gemma", "--json")
    made = json.loads(out)
    assert (code, made["role"], made["restore"], made["subject"]["preset"]) == (0, "hit", "hit", "frontier")
    assert made["subject"]["fingerprint"]
    # without its own word a restore counts as one that brought nothing
    _, out, _ = ops("coldstart", "parse", log(), "--server", "gemma", "--situation", "restart", "--json")
    assert json.loads(out)["role"] == "load"
    assert json.loads(out)["notes"] == [
        "no line of the restore: counted as a start that fills caches; kubectl logs --timestamps --all-containers"
        " --prefix has it"
    ]


@pytest.mark.parametrize(
    ("arguments", "said", "exit_code"),
    [
        (("nothing.log",), "nothing.log: No such file or directory", 2),
        ((".",), ".: Is a directory", 2),
        (
            ("Pulumi.dev.yaml",),
            "Pulumi.dev.yaml: no start of vLLM in it: no line that any known version prints when",
            3,
        ),
        (("engine.log", "--situation", "wake"), "--situation wake: no start of an engine is in it", 2),
        (("engine.log", "--server", "x"), "--server x: not in Pulumi.dev.yaml; expected one of gemma", 2),
        (("engine.log", "--output", "no/such.jsonl"), "--output no/such.jsonl: No such file or directory", 2),
        (
            ("other.log", "--server", "gemma"),
            "servers.gemma.engine.version: 0.33.0; other.log is a log of vLLM 0.26.0",
            1,
        ),
        (
            ("half.log",),
            "half.log: the start does not end in this log: the server does not listen yet; the last that",
            3,
        ),
        (("failed.log",), "failed.log: the engine failed to start; the last that it shows is weights", 1),
    ],
)
def test_what_is_no_start_is_said_in_one_line(ops, log, arguments, said, exit_code):
    log()
    log("other.log", dressed(start("0.26.0"), engine.runtime))
    log("half.log", dressed(start()[:5], engine.runtime))
    log("failed.log", dressed([*start()[:5], Said(50.0, "EngineCore failed to start.")], engine.runtime))
    code, out, err = ops("coldstart", "parse", *arguments)
    assert (code, out) == (exit_code, "")
    assert err.splitlines()[-1].startswith(said)


def test_a_pipe_is_read_as_a_file_is(ops, folder):
    """As of `parse <(kubectl logs ...)`: it can be read once, and is looked at several times."""
    os.mkfifo(folder / "pipe")
    text = (LOGS / "warm2.log").read_bytes()
    writer = threading.Thread(target=lambda: (folder / "pipe").write_bytes(text), daemon=True)
    writer.start()
    code, out, err = ops("coldstart", "parse", "pipe", "-", "-", "--json", given=text.decode())
    writer.join(5)
    assert code == 0, err
    one, two = map(json.loads, out.splitlines())
    assert one == two
    assert one["total"] == 59.923


def test_a_line_of_megabytes_takes_no_time(ops, folder):
    (folder / "long.log").write_text(f"{(LOGS / 'warm2.log').read_text()}{'x' * (3 << 20)}\n")
    begun = time.process_time()
    assert ops("coldstart", "parse", "long.log")[0] == 0
    assert time.process_time() - begun < 10


def test_what_a_full_disk_does_not_take_is_on_standard_output(log, capsys):
    with pytest.raises(OSError, match="No space left"):
        Sink(Path("/dev/full"), as_json=True).keep(parsed([log()], "restart", None, None)[0][1])
    assert json.loads(capsys.readouterr().out)["compile"] == "hit"
