"""Every fault ends in one line, an empty or complete folder and exit code 0, within the limit: `Rig.run` looks."""

import hashlib
import itertools
import resource
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from outcome import LINE
from tests.serving.scripts.restore.rig import FOLDER, Rig, archive, content, publish, publish_base
from tests.serving.scripts.stands.agent import agent
from tests.serving.scripts.stands.s3 import S3, Fault, Faults, Request

ALL = content()
RAW = archive(ALL)
BASE = content(5, seed=b"base")


def is_archive(request: Request) -> bool:
    return request.key.endswith(".tar")


def first(times: int, which: Callable[[Request], bool], fault: Fault) -> Faults:
    count = itertools.count()
    return lambda request: fault if which(request) and next(count) < times else None


def published(rig: Rig) -> Path:
    return rig.bucket / publish(rig.bucket, RAW, len(ALL)).archive_key


def test_an_archive_that_is_missing_behind_its_manifest_is_corrupt(rig: Rig):
    published(rig).unlink()
    run = rig.run()
    assert (run.outcome, rig.tree()) == ("corrupt", {})
    assert "the manifest is there, its archive is not" in run.reason


def test_a_truncated_archive_is_corrupt_and_the_base_is_restored(rig: Rig):
    published(rig).write_bytes(RAW[: len(RAW) // 2])
    publish_base(rig.bucket, BASE)
    run = rig.run()
    assert (run.outcome, run.restored, rig.tree()) == ("corrupt", "base", BASE)
    assert run.reason == f"{FOLDER.fingerprint}: archive has {len(RAW) // 2} bytes, manifest says {len(RAW)}"


def test_an_archive_that_is_too_long_is_corrupt(rig: Rig):
    published(rig).write_bytes(RAW + bytes(512))
    assert (rig.run().outcome, rig.tree()) == ("corrupt", {})


def test_an_archive_with_another_hash_is_corrupt_though_it_could_be_extracted(rig: Rig):
    flipped = bytearray(RAW)
    flipped[len(RAW) // 2 + 7] ^= 1
    published(rig).write_bytes(flipped)
    run = rig.run()
    assert (run.outcome, rig.tree()) == ("corrupt", {})
    assert hashlib.sha256(flipped).hexdigest() in run.reason


def test_a_manifest_with_another_number_of_files_is_corrupt(rig: Rig):
    publish(rig.bucket, RAW, len(ALL) + 1)
    assert rig.run().reason == f"{FOLDER.fingerprint}: archive has 40 files, manifest says 41"


@pytest.mark.parametrize(
    "fault",
    [
        Fault(status=503, code="SlowDown"),
        Fault(status=500, code="InternalError"),
        Fault(status=400, code="RequestTimeout"),
        Fault(reset=True),
        Fault(cut=700),
    ],
    ids=str,
)
@pytest.mark.parametrize("which", [lambda r: r.lists, is_archive], ids=["list", "archive"])
def test_what_passes_on_a_second_attempt_is_a_hit(rig: Rig, s3: S3, fault: Fault, which: Callable[[Request], bool]):
    published(rig)
    s3.faults = first(2, which, fault)
    assert (rig.run().outcome, rig.tree()) == ("hit", ALL)


@pytest.mark.parametrize(
    ("fault", "reason"),
    [
        (Fault(status=403, code="AccessDenied"), "403 AccessDenied"),
        (Fault(status=404, code="NoSuchBucket"), "404 NoSuchBucket"),
        (Fault(status=403, code="ExpiredToken"), "403 ExpiredToken"),
        (
            Fault(status=301, code="PermanentRedirect", headers={"x-amz-bucket-region": "us-west-2"}),
            "301 PermanentRedirect (bucket is in us-west-2, AWS_REGION is eu-west-1)",
        ),
    ],
    ids=lambda value: value.code if isinstance(value, Fault) else "",
)
def test_TOL_04_a_refusal_is_told_at_once_and_never_stops_the_pod(rig: Rig, s3: S3, fault: Fault, reason: str):
    s3.faults = lambda _: fault
    run = rig.run()
    assert (run.outcome, run.reason) == ("denied", f"list {FOLDER.prefix}: {reason}")
    assert run.wall < 2.5


def test_an_archive_that_may_not_be_read_is_denied(rig: Rig, s3: S3):
    published(rig)
    s3.faults = lambda request: Fault(status=403, code="AccessDenied") if is_archive(request) else None
    assert rig.run().outcome == "denied"


def test_a_listing_that_is_none_is_asked_for_again_and_never_a_miss(rig: Rig, s3: S3):
    """A proxy or another server answers 200 with nothing in it."""
    published(rig)
    s3.faults = first(2, lambda request: request.lists, Fault(status=200))
    assert (rig.run().outcome, rig.tree()) == ("hit", ALL)


def test_an_endpoint_that_never_lists_is_a_timeout(rig: Rig, s3: S3):
    s3.faults = lambda _: Fault(status=200)
    run = rig.run("--limit", "2")
    reason = f"list {FOLDER.prefix}: AgainError: the answer is no listing of a bucket"
    assert (run.outcome, run.reason) == ("timeout", reason)


def test_a_token_that_cannot_be_sent_is_not_shown(rig: Rig):
    rig.env |= {"AWS_SESSION_TOKEN": "SECRET\nTOKEN"}
    run = rig.run()
    assert (run.outcome, run.reason) == (
        "no-credentials",
        "AWS_SESSION_TOKEN is empty, or holds white space or other than printable ASCII inside",
    )


@pytest.mark.parametrize("cache", ["", "cache", "./cache"])
def test_a_cache_that_is_no_absolute_path_is_usage_and_makes_no_folder(rig: Rig, tmp_path: Path, cache: str):
    (work := tmp_path / "work").mkdir()
    out, errors = rig.start("--cache", cache, cwd=work).communicate(timeout=20)
    assert errors == ""
    assert LINE.fullmatch(out.rstrip("\n"))["reason"] == f"usage: --cache {cache!r}: want an absolute path"
    assert list(work.iterdir()) == []


def test_no_region_is_denied(rig: Rig):
    rig.env["AWS_REGION"] = ""
    assert rig.run().reason == "AWS_REGION is not set"


def test_a_full_disk_fails_and_leaves_an_empty_folder(rig: Rig, small_disk: bool):
    published(rig)
    run = rig.run() if small_disk else rig.run(program=FULL_DISK)
    assert (run.outcome, rig.tree()) == ("failed", {})
    assert "No space left on device" in run.reason


FULL_DISK = """
import errno, os, runpy, sys
write, left = os.write, [100_000]
def full(file, data):
    left[0] -= len(data)
    if left[0] < 0: raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    return write(file, data)
os.write = full
sys.path[0] = os.path.dirname(sys.argv[1])
sys.argv = sys.argv[1:]
runpy.run_path(sys.argv[0], run_name="__main__")
"""


@pytest.fixture
def small_disk(rig: Rig) -> Iterator[bool]:
    """Mount one of 256 KiB at the node's cache; false where that needs more rights."""
    rig.node.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=256k", "none", rig.node], check=False).returncode == 0
    yield mounted
    if mounted:
        subprocess.run(["umount", rig.node], check=True)


def test_a_disk_that_takes_no_more_bytes_fails_and_leaves_an_empty_folder(rig: Rig):
    published(rig)
    run = rig.run(preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, 10_000)))
    assert (run.outcome, rig.tree()) == ("failed", {})
    assert "File too large" in run.reason


def test_a_pod_admitted_without_an_association_does_not_wait(rig: Rig):
    rig.env = {}
    run = rig.run()
    assert run.outcome == "no-credentials"
    assert run.wall < 2.5


def test_the_pods_token_is_sent_to_nobody_else(rig: Rig):
    rig.env = {"AWS_CONTAINER_CREDENTIALS_FULL_URI": "http://10.0.0.1/v1/credentials"}
    run = rig.run()
    assert (run.outcome, run.reason) == (
        "no-credentials",
        "http://10.0.0.1/v1/credentials: not the address of a credentials agent",
    )


def test_keys_that_expired_meanwhile_are_replaced(rig: Rig, s3: S3, tmp_path: Path):
    published(rig)
    s3.faults = first(1, is_archive, Fault(status=400, code="ExpiredToken"))
    with agent(0) as quick:
        rig.env = quick.env(tmp_path)
        assert rig.run().outcome == "hit"
    assert len(quick.tokens) == 2
