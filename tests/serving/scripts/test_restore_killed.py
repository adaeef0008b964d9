"""A restore may die at any moment: the folder is empty or complete, and the next one succeeds."""

import random
import signal
import time

import pytest

from tests.serving.scripts.rig import Rig, archive, content, publish
from tests.serving.scripts.s3 import S3

ALL = content(400, 50_000)
RAW = archive(ALL)


@pytest.fixture
def slow(rig: Rig, s3: S3) -> float:
    """Publish 20 MB over a link with latency; returns the seconds of a whole restore."""
    publish(rig.bucket, RAW, len(ALL))
    s3.latency = 0.02
    seconds = rig.run().wall
    rig.target.rename(rig.node / "first")
    return seconds


@pytest.mark.parametrize(("local", "moments"), [(False, 20), (True, 10)], ids=["new node", "local content"])
def test_killed_at_any_moment_the_folder_is_empty_or_complete_and_the_next_run_succeeds(
    rig: Rig, slow: float, local: bool, moments: int
):
    pick = random.Random(20)  # noqa: S311 - the same moments each time
    for moment in range(moments):
        before = {"local": b"mine"} if local else {}
        if local:
            rig.target.mkdir()
            (rig.target / "local").write_bytes(b"mine")
        process = rig.start()
        time.sleep(slow * (moment + pick.random()) / moments)
        process.kill()
        process.communicate()
        assert rig.tree() in (before, ALL, {})
        assert rig.run().outcome in {"hit", "present"}
        assert rig.tree() == ALL
        rig.target.rename(rig.node / f"done-{moment}")


def test_an_ordered_stop_cleans_up_and_ends_at_once(rig: Rig, s3: S3, slow: float):
    s3.latency = 0.5
    process = rig.start()
    time.sleep(slow + 0.7)
    process.send_signal(signal.SIGTERM)
    started = time.monotonic()
    out, _ = process.communicate()
    assert time.monotonic() - started < 1
    assert "outcome=timeout" in out
    assert (rig.tree(), rig.left()) == ({}, [])
