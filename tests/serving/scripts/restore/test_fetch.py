"""Ranges arrive in any order and are extracted in theirs."""

import random
import time

from fetch import BLOCK, MOST, SPARE, connections
from tests.serving.scripts.restore.rig import Rig, archive, content, publish
from tests.serving.scripts.stands.s3 import S3, Fault, Request

LARGE = content(160, 400_000)
RAW = archive(LARGE)


def test_an_archive_of_many_blocks_survives_answers_out_of_order_and_broken_ones(rig: Rig, s3: S3):
    pick = random.Random(3)  # noqa: S311 - the same faults each time
    broken: set[str] = set()

    def faults(request: Request) -> Fault | None:
        span = request.headers.get("range", "")
        if not span:
            return None
        time.sleep(pick.uniform(0, 0.1))
        if span in broken or pick.random() < 0.5:
            return None
        broken.add(span)
        return pick.choice([Fault(status=503, code="SlowDown"), Fault(reset=True), Fault(cut=BLOCK // 3)])

    publish(rig.bucket, RAW, len(LARGE))
    s3.faults = faults
    assert rig.run().outcome == "hit"
    assert rig.tree() == LARGE
    assert len(RAW) > (connections(0.001) + SPARE) * BLOCK, "buffers must go round"
    assert broken


def test_one_broken_block_of_many_is_corrupt_wherever_it_is(rig: Rig):
    key = publish(rig.bucket, RAW, len(LARGE)).archive_key
    for at in (0, BLOCK, len(RAW) - 3):
        damaged = bytearray(RAW)
        damaged[at] ^= 1
        (rig.bucket / key).write_bytes(damaged)
        assert (rig.run().outcome, rig.tree()) == ("corrupt", {})


def test_the_buffers_fit_into_what_an_init_container_may_take():
    """300 MB at most; the interpreter takes 25."""
    assert (MOST + SPARE) * BLOCK <= 128 * 2**20


def test_more_latency_means_more_connections_within_bounds():
    counts = [connections(seconds) for seconds in (0.0, 0.001, 0.02, 0.1, 5.0)]
    assert counts == sorted(counts)
    assert 6 <= counts[0] < counts[2] < counts[-1] == MOST
