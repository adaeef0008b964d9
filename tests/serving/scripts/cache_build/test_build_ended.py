"""A build that dies or is stopped, at any moment."""

import signal
import time
from concurrent.futures import ThreadPoolExecutor

from tests.serving.scripts.cache_build.build_case import BUCKET, Case
from tests.serving.scripts.stands.s3_writable import WritableS3

MOMENTS = 20
AT_ONCE = 4
"""Builds that run together: an engine's start is mostly waiting."""


def test_killed_at_20_moments_the_bucket_is_whole_and_the_next_build_succeeds(case, tmp_path):
    began = time.monotonic()
    case.run()
    span = time.monotonic() - began

    def killed(line: int) -> int:
        """Kill five builds one after the other, then let one end; returns how many of the five had not ended."""
        mine = Case(tmp_path / f"killed-{line}", WritableS3(BUCKET))
        died = 0
        for moment in range(line, MOMENTS, AT_ONCE):
            process = mine.start()
            # the second half holds the collecting and the uploads: most moments lie there; and two take longer than one
            time.sleep(1.3 * span * (0.1 + 0.9 * (moment / (MOMENTS - 1)) ** 0.5))
            died += process.poll() is None
            mine.kill()
            mine.check()
        assert mine.run()["outcome"] in {"published", "present"}
        mine.check()
        mine.bucket.close()
        return died

    with ThreadPoolExecutor(AT_ONCE) as pool:
        assert sum(pool.map(killed, range(AT_ONCE))) >= MOMENTS / 2


def test_sigterm_ends_the_engine_too(case):
    process = case.start(STUB_SECONDS="30")
    time.sleep(1)
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=10)
    assert process.returncode == 128 + signal.SIGTERM
    assert case.processes() == []
