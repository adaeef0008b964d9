"""A restore may die at any moment: the folder is empty or complete, and the next one succeeds."""

import random
import signal
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from tests.serving.scripts.restore.rig import Rig, archive, content, publish
from tests.serving.scripts.stands.s3 import S3

ALL = content(400, 50_000)
RAW = archive(ALL)
AT_ONCE = 4
"""Restores that are under way together: most of their time is waiting."""


@pytest.fixture
def slow(rig: Rig, s3: S3) -> float:
    """Publish 20 MB over a link with latency; returns the seconds of a whole restore."""
    publish(rig.bucket, RAW, len(ALL))
    s3.latency = 0.02
    return replace(rig, node=rig.node / "first").run().wall


@pytest.mark.parametrize(("local", "moments"), [(False, 20), (True, 8)], ids=["new node", "local content"])
def test_TOL_04_killed_at_any_moment_the_folder_is_empty_or_complete_and_the_next_run_succeeds(
    rig: Rig, slow: float, local: bool, moments: int
):
    pick = random.Random(20)  # noqa: S311 - the same moments each time
    # several at once take longer than one
    drawn = [1.5 * slow * (moment + pick.random()) / moments for moment in range(moments)]

    def killed_at(seconds: float) -> bool:
        """Tell whether it was killed before it had ended."""
        mine = replace(rig, node=rig.node / f"{seconds:.3f}")
        before = {"local": b"mine"} if local else {}
        if local:
            mine.target.mkdir(parents=True)
            (mine.target / "local").write_bytes(b"mine")
        process = mine.start()
        time.sleep(seconds)
        process.kill()
        process.communicate()
        assert mine.tree() in (before, ALL, {})
        assert mine.run().outcome in {"hit", "present"}
        assert mine.tree() == ALL
        return process.returncode == -signal.SIGKILL

    with ThreadPoolExecutor(AT_ONCE) as pool:
        assert sum(pool.map(killed_at, drawn)) >= moments / 2


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
