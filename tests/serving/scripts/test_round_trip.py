"""Every program against an S3 that was not written for it: what one puts there, the others find, and nothing else."""

import hashlib
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from outcome import LINE
from tests.serving.scripts import mounted, program
from tests.serving.scripts.cache_build.build_case import (
    BUCKET,
    ENGINE,
    FINGERPRINT,
    GPU,
    MODEL,
    PREFIX,
    Case,
    free_port,
)
from tests.serving.scripts.onboard.onboard_case import BUCKET as MODELS
from tests.serving.scripts.onboard.onboard_case import PREFIX as FOLDER
from tests.serving.scripts.onboard.onboard_case import SHARDS
from tests.serving.scripts.onboard.onboard_case import Case as Weights
from tests.serving.scripts.restore.rig import Rig, archive, content, publish, tree
from tests.serving.scripts.stands.moto import MotoBucket, moto_server
from tests.serving.scripts.stands.stub_engine import STUB
from tests.serving.scripts.stands.synthetic import BYTES, FILES, write

CHANGED_FLAG = "fedcba9876543210"
SMALL = content()


@pytest.fixture(scope="module")
def moto() -> Iterator[str]:
    with moto_server() as url:
        yield url


@pytest.fixture(scope="module")
def node() -> Iterator[Path]:
    """A disk in memory: a real one would make a minute of what is written here."""
    with tempfile.TemporaryDirectory(dir="/dev/shm" if Path("/dev/shm").is_dir() else None) as folder:  # noqa: S108 - its own
        yield Path(folder)


class Built(NamedTuple):
    case: Case
    said: dict[str, str]
    """Fields of the build's line."""
    hashes: dict[str, str]
    times: dict[str, int]


@pytest.fixture(scope="module")
def built(moto: str, node: Path) -> Built:
    """A build of 1,204 files and 218 MB beside what the stub engine writes by itself."""
    write(node / "content")
    case = Case(node / "vllm-cache", MotoBucket.made(moto, BUCKET))
    said = case.run(STUB_CONTENT=str(node / "content"))
    made = Built(case, said, hashes(case.root), times(case.root))
    shutil.rmtree(case.root)
    return made


def hashes(root: Path) -> dict[str, str]:
    return {name: hashlib.sha256(body).hexdigest() for name, body in tree(root).items()}


def times(root: Path) -> dict[str, int]:
    return {str(path.relative_to(root)): int(path.stat().st_mtime) for path in root.rglob("*") if path.is_file()}


def restored(case: Case, fingerprint: str, folder: str) -> dict[str, str]:
    """Restore, and mount the folder at the root as the engine's subPath does."""
    shutil.rmtree(case.root, ignore_errors=True)
    where = ["--bucket", BUCKET, "--engine", ENGINE, "--gpu", GPU, "--model", MODEL, "--fingerprint", fingerprint]
    node = case.root.parent / "node"
    command = [sys.executable, "-S", "-B", program("restore"), *where, "--server", folder, "--cache", node]
    done = subprocess.run(command, env=case.environment(), capture_output=True, text=True, check=True)
    (node / folder / fingerprint).rename(case.root)
    found = LINE.fullmatch(done.stdout.rstrip("\n"))
    assert found, done.stdout
    return found.groupdict()


def starts(case: Case, *flags: str) -> str:
    """Start the engine and stop it; returns its log."""
    port = free_port()
    command = [sys.executable, "-B", STUB, "/models", "--port", str(port), *flags]
    return subprocess.run(
        [sys.executable, "-B", "-c", f"import boot; boot.boot({command!r}, '0.26.0', {port}, 20)"],
        env=case.environment(PYTHONPATH=str(mounted())),
        capture_output=True,
        text=True,
        check=True,
    ).stdout


def kernels_were_built(case: Case) -> int:
    return len(next(case.root.rglob("cached_ops/sampling/built")).read_text().splitlines())


def test_a_build_leaves_two_whole_archives_and_two_manifests(built: Built):
    assert (built.said["outcome"], built.said["fingerprint"], built.said["base"]) == ("published",) * 3
    assert int(built.said["bytes"]) > BYTES
    assert int(built.said["files"]) > FILES
    assert len(built.case.keys) == 4
    assert all(key.startswith((f"{PREFIX}/{FINGERPRINT}/", f"{PREFIX}/base/")) for key in built.case.keys)
    built.case.check()


def test_TOL_04_what_is_restored_is_what_was_built_to_the_byte_and_second_and_the_engine_hits_all_of_it(built: Built):
    line = restored(built.case, FINGERPRINT, "same")
    assert (line["outcome"], line["files"], line["bytes"]) == ("hit", built.said["files"], built.said["bytes"])
    found = hashes(built.case.root)
    assert found == {name: body for name, body in built.hashes.items() if name in found}
    assert {name.split("/")[0] for name in built.hashes.keys() - found.keys()} == {"home", ".cache-build"}
    assert times(built.case.root).items() >= {name: built.times[name] for name in found}.items()
    log = starts(built.case)
    assert "Directly load AOT compilation" in log
    assert "Compiling a graph" not in log
    assert kernels_were_built(built.case) == 1


def test_a_changed_flag_misses_the_fingerprint_and_still_has_the_base(built: Built):
    line = restored(built.case, CHANGED_FLAG, "changed")
    assert (line["outcome"], line["restored"], line["bytes"]) == ("base", "base", built.said["base_bytes"])
    assert not list(built.case.root.rglob("torch_compile_cache"))
    log = starts(built.case, "--max-model-len=4096")
    assert "Compiling a graph" in log
    assert kernels_were_built(built.case) == 1


def test_a_second_build_finds_both_manifests_and_replaces_neither(built: Built):
    before = {key: body for key, body in built.case.bucket.sizes.items() if key.endswith(".json")}
    manifests = {key: built.case.manifest(key.split("/")[-2]) for key in before}
    shutil.rmtree(built.case.root, ignore_errors=True)
    line = built.case.run()
    assert (line["outcome"], line["fingerprint"], line["base"]) == ("present",) * 3
    assert {key: built.case.manifest(key.split("/")[-2]) for key in before} == manifests


@pytest.fixture
def rig(moto: str, tmp_path: Path) -> Rig:
    name = tmp_path.name.replace("_", "-").lower()
    MotoBucket.made(moto, name)
    return Rig(bucket=tmp_path / "up", node=tmp_path / "node", url=moto, name=name)


def uploaded(rig: Rig, raw: bytes) -> tuple[MotoBucket, str]:
    """Put an archive and its manifest there with another client; returns the bucket and the archive's key."""
    bucket = MotoBucket(rig.url, rig.name)
    manifest = publish(rig.bucket, raw, len(SMALL))
    for key in (manifest.archive_key, manifest.folder.manifest_key):
        bucket.put(key, (rig.bucket / key).read_bytes())
    return bucket, manifest.archive_key


def test_what_another_client_uploads_is_restored(rig: Rig):
    assert rig.run().outcome == "miss"
    uploaded(rig, archive(SMALL))
    assert rig.run().outcome == "hit"
    assert rig.tree() == SMALL


def test_TOL_04_an_empty_prefix_and_one_with_the_consoles_folder_marker_are_a_miss(rig: Rig):
    assert rig.run().outcome == "miss"
    MotoBucket(rig.url, rig.name).put(rig.folder.prefix, b"")
    assert (rig.run().outcome, rig.tree()) == ("miss", {})


def test_an_archive_that_was_deleted_cut_or_replaced_is_corrupt(rig: Rig):
    raw = archive(SMALL)
    bucket, key = uploaded(rig, raw)
    for body, reason in (
        (None, "the manifest is there, its archive is not"),
        (raw[: len(raw) // 2], f"archive has {len(raw) // 2} bytes, manifest says {len(raw)}"),
        (archive(content(seed=b"b")), "archive has sha256 "),
    ):
        bucket.delete(key) if body is None else bucket.put(key, body)
        run = rig.run()
        assert (run.outcome, rig.tree()) == ("corrupt", {})
        assert reason in run.reason


def test_a_bucket_that_is_not_there_is_denied(rig: Rig):
    rig.name = "another-bucket"
    assert (rig.run().outcome, rig.tree()) == ("denied", {})


@pytest.fixture
def weights(moto: str) -> Iterator[Weights]:
    made = Weights(MotoBucket.made(moto, MODELS))
    yield made
    made.close()
    for key in made.bucket.sizes:
        made.bucket.delete(key)
    made.bucket.client.delete_bucket(Bucket=MODELS)


def test_weights_arrive_in_parts_whole_and_are_verified(weights: Weights):
    done = weights.onboard()
    assert (done.returncode, done.stderr) == (0, "")
    assert weights.stored == weights.wanted
    assert weights.complete
    assert weights.verify("--deep").returncode == 0
    head = weights.bucket.client.head_object(Bucket=MODELS, Key=FOLDER + SHARDS[0])
    assert head["ETag"].endswith('-3"'), "three parts"
    assert head["Metadata"]["sha256"] == weights.hub.sha256(SHARDS[0])


def test_weights_that_were_lost_are_found_and_repaired_alone(weights: Weights):
    weights.onboard()
    weights.bucket.delete(FOLDER + SHARDS[1])
    assert weights.verify().stderr == f"verify: {SHARDS[1]}: missing\n"
    weights.hub.counts.clear()
    assert weights.onboard().returncode == 0
    assert weights.stored == weights.wanted
    assert [name for name in weights.hub.counts if name in SHARDS] == [SHARDS[1]]


def test_an_upload_that_a_dead_run_left_is_dropped(weights: Weights):
    client = weights.bucket.client
    client.create_multipart_upload(Bucket=MODELS, Key=FOLDER + SHARDS[0])
    assert weights.onboard().returncode == 0
    assert "Uploads" not in client.list_multipart_uploads(Bucket=MODELS)
    assert weights.complete
