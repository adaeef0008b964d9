"""Preparing the virtual environment, with stand-ins for Python, pip and uv."""

from __future__ import annotations

from pathlib import Path

import pytest

from rehearsal.toolchain import venv
from tests.rehearsal.conftest import ROOT


@pytest.fixture
def machine(tmp_path, monkeypatch):
    """`calls` records what ran; `python -m venv` makes stand-ins that record and succeed."""
    python = tmp_path / "python3"
    calls = tmp_path / "calls"
    recorder = f'#!/bin/sh\necho "$(basename "$0") $1 $2 $3" >> {calls}\n'
    python.write_text(
        f"{recorder}mkdir -p $3/bin\n"
        f"for name in python uv; do printf '%s' '{recorder}' > $3/bin/$name; chmod +x $3/bin/$name; done\n"
    )
    python.chmod(0o755)
    monkeypatch.setattr(venv.sys, "executable", str(python))
    (tmp_path / "requirements.txt").write_text("pulumi==1\n")
    return tmp_path


def prepare(machine: Path) -> list[str]:
    venv.prepare(machine / "venv", machine / "requirements.txt")
    calls = (machine / "calls").read_text().splitlines() if (machine / "calls").exists() else []
    (machine / "calls").unlink(missing_ok=True)
    return calls


def test_a_cold_run_makes_installs_and_a_warm_one_does_nothing(machine):
    assert prepare(machine) == [
        f"python3 -m venv {machine}/venv",
        "python -m pip install",
        "uv pip install --quiet",
    ]
    assert prepare(machine) == []


def test_changed_requirements_are_installed_into_the_same_environment(machine):
    prepare(machine)
    (machine / "requirements.txt").write_text("pulumi==2\n")
    assert [call.split()[0] for call in prepare(machine)] == ["python", "python", "uv"]


def test_an_interrupted_installation_is_done_again(machine, monkeypatch):
    prepare(machine)
    (machine / "requirements.txt").write_text("pulumi==2\n")

    def interrupted(_command, _problem):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(venv, "_run", interrupted)
        with pytest.raises(KeyboardInterrupt):
            prepare(machine)
    (machine / "requirements.txt").write_text("pulumi==1\n")
    assert "uv pip install --quiet" in prepare(machine)


def test_a_half_made_environment_is_made_again(machine):
    (machine / "venv" / "bin").mkdir(parents=True)
    assert prepare(machine)[0] == f"python3 -m venv {machine}/venv"


def test_a_python_without_venv_names_the_package_to_install(machine, monkeypatch):
    python = machine / "python3"
    python.write_text("#!/bin/sh\necho 'No module named venv' >&2\nexit 1\n")
    with pytest.raises(venv.PrepareError) as caught:
        prepare(machine)
    assert str(caught.value) == (
        f"{python} cannot create a virtual environment (No module named venv): on Debian and Ubuntu run "
        "`sudo apt-get install python3-venv`, elsewhere use a Python that has ensurepip (make PYTHON=/path/to/python3)"
    )
    assert not (machine / "venv").exists()


def test_the_locks_are_pinned_and_hashed_and_name_no_index():
    for name in ("requirements.txt", "requirements-dev.txt"):
        text = (ROOT / name).read_text()
        assert "://" not in text
        pins = [line for line in text.splitlines() if line and line[0] not in " #"]
        assert len(pins) > 20
        assert all("==" in pin and pin.endswith("\\") for pin in pins)


def test_the_development_lock_holds_the_same_pins_as_the_programs():
    def pins(name):
        lines = (ROOT / name).read_text().splitlines()
        return {line.split(" ")[0] for line in lines if line and line[0] not in " #"}

    assert pins("requirements.txt") <= pins("requirements-dev.txt")
