"""The engine's liveness probe: the engine's health, and a word of the agent as long as it is fresh."""

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import verdict
from tests.serving.scripts import program
from tests.serving.scripts.stands.loopback import Quiet, Server


@pytest.fixture
def engine() -> Iterator[Server]:
    class Health(Quiet):
        def do_GET(self) -> None:
            self.answer(200 if self.path == "/health" else 404)

    server = Server(("127.0.0.1", 0), Health)
    server.start()
    yield server
    server.stop()


def probe(*arguments: object) -> tuple[int, str]:
    command = [sys.executable, program("engine_alive"), *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=20)
    return done.returncode, done.stderr


@pytest.mark.parametrize(
    ("age", "counts"),
    [(0, True), (verdict.AGE - 5, True), (verdict.AGE + 1, False), (86400, False), (-60, False)],
)
def test_a_verdict_counts_for_half_a_minute_and_never_from_the_future(
    engine: Server, tmp_path: Path, age: float, counts: bool
) -> None:
    """An agent that is gone must not restart an engine that took minutes to start."""
    file = tmp_path / "unwakeable"
    verdict.write(file, "it does not wake")
    os.utime(file, (time.time() - age,) * 2)
    expected = (1, "not alive: it does not wake\n") if counts else (0, "")
    assert probe(engine.server_port, file) == expected


def test_no_verdict_and_one_that_cannot_be_read_let_the_engine_live(engine: Server, tmp_path: Path) -> None:
    assert probe(engine.server_port, tmp_path / "none") == (0, "")
    assert probe(engine.server_port, tmp_path / "no" / "folder") == (0, "")
    assert probe(engine.server_port, tmp_path) == (0, ""), "a folder in its place"
    assert probe(engine.server_port) == (0, "")


def test_a_verdict_that_is_lifted_is_gone(engine: Server, tmp_path: Path) -> None:
    file = tmp_path / "unwakeable"
    verdict.write(file, "x")
    verdict.remove(file)
    verdict.remove(file)
    assert probe(engine.server_port, file) == (0, "")


def test_an_engine_that_does_not_answer_is_not_alive_whatever_the_agent_says(tmp_path: Path) -> None:
    code, said = probe(1, tmp_path / "none")
    assert code == 1
    assert said.startswith("not alive: ConnectionRefusedError")


def test_a_folder_that_takes_no_verdict_stops_nobody(tmp_path: Path) -> None:
    verdict.write(tmp_path / "no" / "folder", "x")
    assert verdict.read(tmp_path / "no" / "folder") is None
