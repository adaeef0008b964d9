"""`report` and `refit` as commands, files of records, and a browser."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest
from typer.testing import CliRunner

from ops.cli import app
from ops.coldstart.record import Record
from tests.ops.chromium import Browser, browser


@pytest.fixture
def ops() -> Callable[..., tuple[int, str, str]]:
    """`ops("report", ...)`: exit code, standard output, standard error of `ops coldstart`."""

    def run(*arguments: str, given: str = "") -> tuple[int, str, str]:
        done = CliRunner().invoke(app, ("coldstart", *arguments), input=given)
        if done.exception and not isinstance(done.exception, SystemExit):
            raise done.exception
        return done.exit_code, done.stdout, done.stderr

    return run


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., str]:
    """`file(records)`: the name of a file in the current folder, which is empty."""
    monkeypatch.chdir(tmp_path)

    def write(records: Sequence[Record], name: str = "starts.jsonl") -> str:
        Path(name).write_text("".join(f"{record.line()}\n" for record in records), encoding="utf-8")
        return name

    return write


@pytest.fixture(scope="session")
def chromium(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    """One browser for all pages."""
    with browser(tmp_path_factory.mktemp("chromium")) as page:
        yield page
