"""No program outlives the Python that started it, whatever happens to that one."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from rehearsal.control_plane.process import running
from rehearsal.toolchain.executable import Executable
from tests.rehearsal.conftest import ROOT, wait_for
from tests.rehearsal.control_plane.conftest import processes


def script(folder: Path, text: str) -> Executable:
    path = folder / "program"
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return Executable(path=path, version="1.2.3")


def keeper_of(mark: Path) -> int:
    listed = subprocess.run(["ps", "-A", "-ww", "-o", "pid=,args="], capture_output=True, text=True, check=True)
    (line,) = [line for line in listed.stdout.splitlines() if str(mark) in line and "keeper.py" in line]
    return int(line.split()[0])


def test_the_end_of_a_program_is_one_line_with_its_code_and_its_last_lines(tmp_path):
    program = script(tmp_path, "seq 5; echo 'E0102 03:04:05.678901   12345 run.go:72] no luck' >&2; exit 3")
    with running(program, [], log=tmp_path / "log", home=tmp_path) as process:
        wait_for(process.stopped)
        assert process.stopped() == "program v1.2.3 stopped (exit 3); last lines: 4 | 5 | run.go:72] no luck"


def test_a_program_that_wrote_nothing_and_was_killed_says_so(tmp_path):
    with running(script(tmp_path, "kill -9 $$"), [], log=tmp_path / "log", home=tmp_path) as process:
        wait_for(process.stopped)
        assert process.stopped() == "program v1.2.3 stopped (exit 137); it wrote nothing"


def test_a_program_that_cannot_be_started_is_named(tmp_path):
    path = tmp_path / "program"
    path.write_bytes(b"\x7fELF and no more")
    path.chmod(0o755)
    with running(Executable(path=path, version="1"), [], log=tmp_path / "log", home=tmp_path) as process:
        wait_for(process.stopped)
        assert process.stopped() == (
            f"program v1 stopped (exit 126); last lines: {path} cannot be started: Exec format error"
        )


def test_the_users_environment_does_not_reach_a_program(tmp_path, monkeypatch):
    monkeypatch.setenv("ETCD_NAME", "theirs")
    with running(script(tmp_path, "env"), [], log=tmp_path / "log", home=tmp_path) as process:
        wait_for(process.stopped)
    assert "ETCD_NAME" not in process.log.read_text()


def test_the_end_of_the_block_ends_the_program_and_what_it_started(tmp_path):
    program = script(tmp_path, f"sh -c 'sleep 61; : {tmp_path}' & sleep 62")
    with running(program, [], log=tmp_path / "log", home=tmp_path):
        wait_for(lambda: len(processes(str(tmp_path))) == 3)  # keeper, program, the shell that it started
    wait_for(lambda: processes(str(tmp_path)) == [])


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_keeper_that_is_asked_to_end_takes_the_program_along(tmp_path, number):
    program = script(tmp_path, "sleep 60")
    with running(program, [], log=tmp_path / "log", home=tmp_path) as process:
        wait_for(lambda: len(processes(str(tmp_path))) == 2)
        os.kill(keeper_of(tmp_path), number)
        wait_for(process.stopped)
        wait_for(lambda: processes(str(tmp_path)) == [])


def test_a_keeper_that_is_killed_leaves_nothing_behind_at_the_end(tmp_path):
    with running(script(tmp_path, "sleep 60"), [], log=tmp_path / "log", home=tmp_path):
        wait_for(lambda: len(processes(str(tmp_path))) == 2)
        os.kill(keeper_of(tmp_path), signal.SIGKILL)
    wait_for(lambda: processes(str(tmp_path)) == [])


PARENT = """
import pathlib, sys, time
from rehearsal.control_plane.process import running
from rehearsal.toolchain.executable import Executable
place = pathlib.Path(sys.argv[1])
with running(Executable(path=place / "program", version="1"), [], log=place / "log", home=place):
    time.sleep(60)
"""


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGABRT])
def test_a_program_ends_with_a_parent_that_could_not_clean_up(tmp_path, number):
    script(tmp_path, f"sh -c 'sleep 61; : {tmp_path}' & sleep 62")
    parent = subprocess.Popen([sys.executable, "-c", PARENT, str(tmp_path)], cwd=ROOT)
    wait_for(lambda: len(processes(f"{tmp_path}/program")) == 2 and len(processes(f": {tmp_path}")) == 1)
    parent.send_signal(number)
    assert parent.wait(timeout=10) == -number
    wait_for(lambda: processes(str(tmp_path)) == [])


def test_a_keeper_run_by_hand_touches_nothing():
    keeper = ROOT / "rehearsal" / "control_plane" / "keeper.py"
    done = subprocess.run(
        [sys.executable, str(keeper), "--", "sleep", "60"], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (2, "usage: keeper.py -- COMMAND..., as the leader of a process group\n")
