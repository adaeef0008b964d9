"""What a restore leaves on the node, and what it says, for each state of bucket and node."""

import json
import os
import stat
import subprocess
from dataclasses import replace

import pytest

from manifest import MANIFEST, MARKER
from outcome import Limit, TimedOutError
from place import Place
from tests.serving.scripts.restore.rig import FOLDER, Rig, archive, content, owners, publish, publish_base
from tests.serving.scripts.stands.s3 import S3

ALL, BASE = content(), content(11, seed=b"base")


def test_a_published_fingerprint_is_a_hit_with_its_bytes_and_files(rig: Rig):
    raw = archive(ALL)
    publish(rig.bucket, raw, len(ALL))
    run = rig.run()
    assert (run.outcome, run.restored, run.bytes, run.files) == ("hit", "fingerprint", len(raw), len(ALL))
    assert rig.tree() == ALL


def test_a_missing_fingerprint_restores_the_base(rig: Rig):
    publish_base(rig.bucket, BASE)
    run = rig.run()
    assert (run.outcome, run.restored, run.files) == ("base", "base", len(BASE))
    assert rig.tree() == BASE


def test_an_empty_bucket_is_a_miss_that_leaves_an_empty_folder(rig: Rig):
    assert rig.run().outcome == "miss"
    assert list(rig.target.iterdir()) == []


def test_an_archive_without_manifest_is_a_miss(rig: Rig):
    publish(rig.bucket, archive(ALL), len(ALL))
    (rig.bucket / FOLDER.manifest_key).unlink()
    assert rig.run().outcome == "miss"


def test_a_restored_folder_is_present_without_a_request(rig: Rig, s3: S3):
    publish(rig.bucket, archive(ALL), len(ALL))
    rig.run()
    s3.requests.clear()
    (rig.target / "written-by-the-engine").write_text("x")
    run = rig.run()
    assert (run.outcome, run.restored, run.bytes) == ("present", "fingerprint", 0)
    assert s3.requests == []
    assert (rig.target / "written-by-the-engine").exists()


def test_a_restored_base_gives_way_to_the_fingerprint_once_it_is_published(rig: Rig):
    publish_base(rig.bucket, BASE)
    rig.run()
    run = rig.run()
    assert (run.outcome, run.restored, run.bytes) == ("present", "base", 0)
    publish(rig.bucket, archive(ALL), len(ALL))
    assert rig.run().outcome == "hit"
    assert rig.tree() == ALL


def test_local_content_gives_way_and_stays_usable_beside(rig: Rig):
    """A pod that has the folder mounted keeps its files: the mount follows the folder, not the name."""
    rig.target.mkdir(parents=True)
    (rig.target / "local").write_text("mine")
    publish(rig.bucket, archive(ALL), len(ALL))
    assert rig.run().outcome == "hit"
    assert rig.tree() == ALL
    (aside,) = rig.aside()
    assert (aside / "local").read_text() == "mine"


def test_an_empty_folder_that_a_pod_may_have_mounted_is_moved_and_not_replaced(rig: Rig):
    rig.run()
    mounted = os.open(rig.target, os.O_DIRECTORY)
    publish(rig.bucket, archive(ALL), len(ALL))
    assert rig.run().outcome == "hit"
    os.close(os.open("new", os.O_CREAT | os.O_WRONLY, dir_fd=mounted))
    os.close(mounted)


def test_local_content_stays_on_a_miss(rig: Rig):
    rig.target.mkdir(parents=True)
    (rig.target / "local").write_text("mine")
    assert rig.run().outcome == "miss"
    assert rig.tree() == {"local": b"mine"}


def test_what_another_boot_restored_is_restored_again_and_then_removed(rig: Rig):
    """Nothing is synced to the disk, so after a power cut the files behind a marker may be empty."""
    publish(rig.bucket, archive(ALL), len(ALL))
    rig.run()
    marker = rig.target / MARKER
    marker.write_text(json.dumps({**json.loads(marker.read_text()), "boot": "another"}))
    next(rig.target.rglob("artifact_3.bin")).write_bytes(b"")
    assert rig.run().outcome == "hit"
    assert rig.tree() == ALL
    (aside,) = rig.aside()
    aside.rename(aside.with_name(f".aside-{FOLDER.fingerprint}-another-1"))
    publish_base(rig.bucket, BASE)
    marker.unlink()
    rig.run()
    assert not aside.with_name(f".aside-{FOLDER.fingerprint}-another-1").exists()


def test_times_are_kept_to_the_nanosecond(rig: Rig):
    """FlashInfer asks ninja, ninja compares times: a cache with other times costs a build of 100 s."""
    publish(rig.bucket, archive(ALL), len(ALL))
    rig.run()
    times = {path.stat().st_mtime_ns for path in rig.target.rglob("artifact_*")}
    assert times == {1_790_000_000_123_456_789}


OWNER = (2000, 2000) if os.geteuid() == 0 else (os.geteuid(), os.getegid())
"""The engine's; only root gives files away, and anybody to himself."""


@pytest.mark.parametrize("found", [True, False], ids=["hit", "miss"])
def test_VLM_05_everything_belongs_to_the_engine_and_it_may_write_everywhere(rig: Rig, found: bool):
    """Kubelet would make the folder as root, and fsGroup does not reach a hostPath."""
    if found:
        publish(rig.bucket, archive(ALL), len(ALL))
    rig.run("--owner", "{}:{}".format(*OWNER))
    assert owners(rig.target) == {OWNER}
    for path in [rig.target, *rig.target.rglob("*")]:
        mode = path.stat().st_mode
        assert mode & stat.S_IWUSR
        assert mode & stat.S_IXUSR or not path.is_dir()


def test_VLM_05_without_an_owner_it_belongs_to_who_restores(rig: Rig):
    publish(rig.bucket, archive(ALL), len(ALL))
    rig.run()
    assert owners(rig.target) == {(os.geteuid(), os.getegid())}


def test_TOL_04_another_version_of_the_same_size_is_read_and_what_it_lacks_does_not_linger(rig: Rig):
    """A version is a prefix and a folder of its own: neither sizes nor times decide what is on the node."""
    first, second = {"a": b"1" * 1024, "gone": b"x"}, {"a": b"2" * 1024}
    publish(rig.bucket, archive(first), len(first))
    rig.run()
    later = 4_000_000_000
    os.utime(rig.target / "a", (later, later))
    changed = replace(rig, folder=replace(FOLDER, fingerprint="fedcba9876543210"))
    publish(rig.bucket, archive(second), len(second), changed.folder)
    assert changed.run().outcome == "hit"
    assert changed.tree() == second
    assert rig.tree() == first


def test_TOL_04_the_bucket_is_only_read(rig: Rig, s3: S3):
    rig.run()
    publish(rig.bucket, archive(ALL), len(ALL))
    rig.run()
    assert {request.method for request in s3.requests} == {"GET"}


def test_two_restores_at_once_download_once_and_both_end_well(rig: Rig, s3: S3):
    publish(rig.bucket, archive(ALL), len(ALL))
    s3.latency = 0.05
    both = [rig.start(), rig.start()]
    outcomes = sorted(process.communicate(timeout=30)[0].split()[1] for process in both)
    assert outcomes == ["outcome=hit", "outcome=present"]
    assert rig.tree() == ALL
    assert sum("range" in request.headers for request in s3.requests) == 1


def test_nothing_is_published_once_the_pod_was_told_to_go_on(rig: Rig):
    """The engine may have the folder mounted by then."""
    place = Place(str(rig.node), "chat-a", FOLDER.fingerprint, None)
    with place.locked(Limit(5)), place.temporary() as path:
        place.leave()
        with pytest.raises(TimedOutError):
            place.publish(path, FOLDER.fingerprint, "0" * 64)
    assert list(rig.target.iterdir()) == []


def test_a_manifest_of_another_format_is_corrupt_and_the_base_is_restored(rig: Rig):
    publish_base(rig.bucket, BASE)
    at = rig.bucket / FOLDER.prefix / MANIFEST
    at.parent.mkdir()
    at.write_text('{"format": 2}')
    run = rig.run()
    assert (run.outcome, run.restored) == ("corrupt", "base")
    assert run.reason == f"{FOLDER.fingerprint}: manifest: format 2: this program reads 1"
    assert rig.tree() == BASE


@pytest.mark.parametrize(
    ("more", "reason"),
    [
        (["--model", "../x"], "usage: --model '../x': want one part of a key"),
        (["--model", "a//b"], "usage: --model 'a//b': want one part of a key"),
        (["--fingerprint", "main"], "usage: --fingerprint 'main': want 8 to 64 lower-case hex digits or 'base'"),
        (["--server", "../up"], "usage: --server '../up': want a DNS label"),
        (["--bucket", "a/b"], "usage: --bucket 'a/b': want the name of a bucket"),
        (["--nonsense"], "usage: unrecognized arguments: --nonsense"),
    ],
)
def test_a_wrong_argument_is_one_line_and_never_stops_the_pod(rig: Rig, more: list[str], reason: str):
    process = subprocess.run(rig.command(*more), capture_output=True, text=True, check=True, env={})
    (line,) = process.stdout.splitlines()
    assert "outcome=failed" in line
    assert reason.replace('"', "'") in line
    assert not rig.node.exists()
