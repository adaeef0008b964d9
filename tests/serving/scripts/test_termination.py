"""What each program prints last is also its container's termination message, so that `ops` needs no log to tell it."""

from collections.abc import Iterator
from pathlib import Path

import pytest

import termination
from tests.serving.scripts.cache_build.build_case import BUCKET, Case
from tests.serving.scripts.onboard.onboard_case import Case as Weights
from tests.serving.scripts.restore.rig import Rig
from tests.serving.scripts.stands.s3_writable import WritableS3


@pytest.fixture
def message(tmp_path: Path) -> Path:
    """The file that kubelet has made."""
    path = tmp_path / "termination-log"
    path.write_text("of an earlier start, and longer than what comes now" * 50)
    return path


@pytest.fixture
def build(tmp_path: Path) -> Iterator[Case]:
    made = Case(tmp_path / "vllm-cache", WritableS3(BUCKET))
    yield made
    made.kill()
    made.bucket.close()


@pytest.fixture
def weights(message: Path) -> Iterator[Weights]:
    made = Weights()
    made.env = {termination.VARIABLE: str(message)}
    yield made
    made.close()


def test_a_restores_line_is_its_message(rig: Rig, message: Path):
    rig.env[termination.VARIABLE] = str(message)
    process = rig.start()
    out, _ = process.communicate(timeout=20)
    assert "outcome=miss" in out
    assert message.read_text() == out.rstrip("\n")


@pytest.mark.parametrize(("environment", "code"), [({}, 0), ({"STUB_REFUSES": "1"}, 1)], ids=["published", "refused"])
def test_a_builds_line_is_its_message(build: Case, message: Path, environment: dict[str, str], code: int):
    line = build.run(code=code, **environment, TERMINATION_LOG=str(message))
    assert message.read_text() == line["log"].rstrip("\n").rpartition("\n")[2]


def test_a_wrong_command_line_of_a_build_is_its_message(build: Case, message: Path):
    build.arguments = ["--fingerprint", "base"]
    process = build.start(TERMINATION_LOG=str(message))
    process.communicate(timeout=20)
    assert message.read_text() == "usage: --fingerprint 'base': it comes with every build"


def test_what_onboarding_and_verification_say_last_is_their_message(weights: Weights, message: Path):
    for run in (weights.onboard, weights.verify):
        done = run()
        assert done.returncode == 0
        assert message.read_text() == done.stdout.rstrip("\n").rpartition("\n")[2]


def test_all_problems_are_in_the_message(weights: Weights, message: Path):
    del weights.hub.files["config.json"], weights.hub.files["tokenizer.json"]
    done = weights.onboard()
    assert done.returncode == 1
    assert len(done.stderr.splitlines()) == 2
    assert message.read_text() == done.stderr.rstrip("\n")


def test_what_could_not_be_told_is_in_the_message(weights: Weights, message: Path):
    weights.hub.fault = lambda _: (429, {"Retry-After": "3600"})
    done = weights.onboard()
    assert done.returncode == 3
    assert message.read_text() == done.stderr.rstrip("\n")
    assert weights.verify().returncode == 1
    assert message.read_text().startswith("verify: ")


def test_a_message_is_cut_where_kubelet_would(message: Path):
    termination.say("é" * 4096, {termination.VARIABLE: str(message)})
    assert message.read_bytes() == ("é" * 2048).encode()


def test_outside_of_a_pod_no_file_is_made_and_nothing_fails(tmp_path: Path):
    for path in (tmp_path / "none", tmp_path):
        termination.say("x", {termination.VARIABLE: str(path)})
    assert list(tmp_path.iterdir()) == []
