"""Onboarding as a process between a local hub and a local bucket: what arrives, what is kept, what is refused."""

import hashlib
import json
import random
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.serving.scripts.onboard.onboard_case import (
    BUCKET,
    INDEX,
    MARKER,
    PREFIX,
    SHARDS,
    TO,
    Case,
    environment,
    onboard_command,
    shard,
)
from tests.serving.scripts.stands.hub import COMMIT, REPOSITORY
from tests.serving.scripts.stands.s3 import Fault
from tests.serving.scripts.stands.s3_writable import Object


@pytest.fixture
def case() -> Iterator[Case]:
    made = Case()
    yield made
    made.close()


def fetched(case: Case) -> list[str]:
    return [name for name in case.hub.counts if name and not name.startswith("resolve ")]


def test_every_byte_arrives_and_the_marker_lists_it(case: Case) -> None:
    done = case.onboard()
    assert (done.returncode, done.stderr) == (0, "")
    assert case.stored == case.wanted
    marker = json.loads(case.bucket.objects[PREFIX + MARKER].body)
    assert (marker["repository"], marker["commit"]) == (REPOSITORY, COMMIT)
    assert {item["name"]: (item["size"], item["sha256"]) for item in marker["files"]} == {
        key.removeprefix(PREFIX): (len(body), hashlib.sha256(body).hexdigest()) for key, body in case.wanted.items()
    }


def test_the_marker_is_the_last_object_and_written_only_when_there_is_none(case: Case) -> None:
    case.onboard()
    last = [request for request in case.bucket.requests if request.method in {"PUT", "POST"}][-1]
    assert (last.method, last.bucket, last.key) == ("PUT", BUCKET, PREFIX + MARKER)
    assert last.headers["if-none-match"] == "*"


def test_a_listing_of_several_pages_is_whole(case: Case) -> None:
    case.hub.page = 2
    assert case.onboard().returncode == 0
    assert case.stored == case.wanted


def test_a_second_run_moves_nothing(case: Case) -> None:
    case.onboard()
    case.hub.counts.clear()
    before = dict(case.bucket.objects)
    done = case.onboard()
    assert done.returncode == 0, done.stderr
    assert (fetched(case), dict(case.bucket.objects)) == ([], before)


def test_a_lost_object_is_repaired_below_its_marker(case: Case) -> None:
    case.onboard()
    del case.bucket.objects[PREFIX + SHARDS[1]]
    case.hub.counts.clear()
    assert case.onboard().returncode == 0
    assert fetched(case) == [SHARDS[1]]
    assert case.stored == case.wanted


def test_TOL_04_an_object_of_the_same_size_and_another_content_is_not_taken_for_it(case: Case) -> None:
    """awscli#599: size alone says nothing. What this program did not write, it writes again."""
    size = len(case.hub.files[SHARDS[0]])
    case.bucket.objects[PREFIX + SHARDS[0]] = Object(b"x" * size, {})
    case.bucket.objects[PREFIX + SHARDS[1]] = Object(
        b"y" * len(case.hub.files[SHARDS[1]]), {"source": "sha256:" + "0" * 64, "sha256": "0" * 64}
    )
    assert case.onboard().returncode == 0
    assert case.stored == case.wanted


def test_TOL_04_a_folder_marker_of_the_console_is_no_file(case: Case) -> None:
    case.bucket.objects[PREFIX] = Object(b"", {})
    assert case.onboard().returncode == 0
    assert case.verify().returncode == 0


def test_TOL_04_another_commit_needs_another_folder(case: Case) -> None:
    case.onboard()
    marker = case.bucket.objects[PREFIX + MARKER]
    marker.body = marker.body.replace(COMMIT.encode(), b"f" * 40)
    done = case.onboard()
    assert done.returncode == 1
    assert done.stderr == (
        f"onboard: {PREFIX} holds {REPOSITORY} at {'f' * 40}: another revision needs another folder\n"
    )


def test_a_stranger_in_the_folder_is_refused(case: Case) -> None:
    case.bucket.objects[PREFIX + "model-old.safetensors"] = Object(b"x", {})
    done = case.onboard()
    assert done.returncode == 1
    assert done.stderr == (
        f"onboard: {TO}model-old.safetensors: is in the folder and not in the commit; remove it first\n"
    )


MOMENTS, AT_ONCE = 20, 4


def test_no_kill_leaves_a_half_folder_that_looks_whole_and_the_next_run_ends_it(case: Case) -> None:
    """Moments drawn over the run's own time; objects in the bucket are always whole files of the commit."""
    case.hub.latency = 0.05
    started = time.monotonic()
    assert case.onboard().returncode == 0
    whole = time.monotonic() - started
    draw = random.Random(6)  # noqa: S311 - moments
    # several at once take longer than one
    moments = [draw.uniform(0.1, 1.5) * whole for _ in range(MOMENTS)]

    def killed_at(seconds: float) -> bool:
        """Tell whether it was killed before it had ended."""
        mine = Case(hub=case.hub)
        env = environment(mine.hub, mine.bucket)
        with subprocess.Popen(onboard_command(), env=env, stdout=subprocess.DEVNULL) as process:
            time.sleep(seconds)
            process.kill()
        assert mine.stored.items() <= mine.wanted.items()
        assert not mine.complete or mine.stored == mine.wanted
        kept = {key: mine.bucket.objects[key] for key in mine.stored}
        assert mine.onboard().returncode == 0
        assert (mine.stored, mine.bucket.uploads) == (mine.wanted, {})
        assert all(mine.bucket.objects[key] is was for key, was in kept.items()), "what had arrived is not sent again"
        mine.bucket.close()
        return process.returncode == -signal.SIGKILL

    with ThreadPoolExecutor(AT_ONCE) as pool:
        assert sum(pool.map(killed_at, moments)) >= MOMENTS / 2


def test_SIGTERM_ends_it_at_once_and_the_next_run_continues(case: Case) -> None:
    case.hub.latency = 1.0
    env = environment(case.hub, case.bucket)
    with subprocess.Popen(onboard_command(), env=env, stdout=subprocess.DEVNULL) as process:
        time.sleep(1.0)
        process.terminate()
        assert process.wait(timeout=2) == 3
    assert not case.complete
    case.hub.latency = 0
    assert case.onboard().returncode == 0


Change = Callable[[Case], None]


def without(name: str) -> Change:
    return lambda case: case.hub.files.pop(name) and None


def with_file(name: str, body: bytes = b"x") -> Change:
    return lambda case: case.hub.files.update({name: body})


def short_header(case: Case) -> None:
    case.hub.files[SHARDS[2]] = shard(100_000, 2)[:-1]


REFUSED = {
    "missing shard": (without(SHARDS[1]), f"{SHARDS[1]}: named by {INDEX}, and missing"),
    "no config": (without("config.json"), "config.json is missing"),
    "no tokenizer": (without("tokenizer.json"), "no tokenizer"),
    "no index": (without(INDEX), f"3 files of weights and no {INDEX}"),
    "index of another form": (with_file(INDEX, b"[]"), f"{INDEX} has no weight_map"),
    "stray weights": (
        with_file("consolidated.safetensors", shard(9, 9)),
        "consolidated.safetensors: top-level weights that",
    ),
    "pickle": (with_file("original/consolidated.00.pth"), "original/consolidated.00.pth: may hold pickles"),
    "bin": (with_file("pytorch_model.bin"), "pytorch_model.bin: may hold pickles"),
    "dots": (with_file("a/../../b.json"), "'a/../../b.json': not a safe file name"),
    "absolute": (with_file("/etc/passwd"), "'/etc/passwd': not a safe file name"),
    "double slash": (with_file("a//b.json"), "'a//b.json': not a safe file name"),
    "control character": (with_file("a\nb.json"), "'a\\nb.json': not a safe file name"),
    "option": (with_file("-rf"), "'-rf': not a safe file name"),
}


@pytest.mark.parametrize("fault", REFUSED)
def test_a_bad_layout_is_refused_before_the_first_byte(case: Case, fault: str) -> None:
    change, message = REFUSED[fault]
    change(case)
    done = case.onboard()
    assert done.returncode == 1
    assert len(done.stderr.splitlines()) == 1
    assert message in done.stderr
    assert case.bucket.objects == {}


def test_all_problems_of_a_layout_are_told_at_once(case: Case) -> None:
    del case.hub.files["config.json"], case.hub.files["tokenizer.json"], case.hub.files[SHARDS[0]]
    assert len(case.onboard().stderr.splitlines()) == 3


def test_what_is_excluded_is_not_judged(case: Case) -> None:
    case.hub.files |= {"pytorch_model.bin": b"x", "consolidated.safetensors": b"x", "original/a.pth": b"x"}
    done = case.onboard("--exclude", "*.bin", "--exclude", "original/*", "--exclude", "consolidated*")
    assert done.returncode == 0, done.stderr
    assert f"{PREFIX}pytorch_model.bin" not in case.stored


def test_pickles_can_be_allowed(case: Case) -> None:
    case.hub.files["training_args.bin"] = b"x"
    assert case.onboard("--allow-pickle").returncode == 0
    assert (case.verify().returncode, case.verify("--allow-pickle").returncode) == (1, 0)


def test_a_shard_that_its_publisher_cut_gets_no_marker(case: Case) -> None:
    """Its hash is right: the commit holds a broken file."""
    short_header(case)
    done = case.onboard()
    assert done.returncode == 1
    assert f"{SHARDS[2]}: its safetensors header describes" in done.stderr
    assert not case.complete


@pytest.mark.parametrize(
    "change",
    [
        lambda objects: objects.pop(PREFIX + SHARDS[0]),
        lambda objects: objects.update({PREFIX + "stray.safetensors": Object(b"x", {})}),
        lambda objects: objects.update({PREFIX + SHARDS[0]: Object(b"x", {})}),
        lambda objects: objects.pop(PREFIX + MARKER),
        lambda objects: objects.update({PREFIX + MARKER: Object(b"{}", {})}),
    ],
    ids=["missing", "stray", "size", "no marker", "bad marker"],
)
def test_verify_finds_what_changed_in_the_folder(case: Case, change: Callable[[dict[str, Object]], object]) -> None:
    case.onboard()
    assert case.verify().returncode == 0
    change(case.bucket.objects)
    done = case.verify()
    assert done.returncode == 1
    assert len(done.stderr.splitlines()) == 1


def test_verify_reads_every_byte_only_when_asked(case: Case) -> None:
    case.onboard()
    assert "hashed" in case.verify("--deep").stdout
    changed = case.bucket.objects[PREFIX + SHARDS[0]]
    changed.body = changed.body[:-1] + bytes([changed.body[-1] ^ 1])
    assert case.verify().returncode == 0
    done = case.verify("--deep")
    assert done.returncode == 1
    assert f"{SHARDS[0]}: hashes to" in done.stderr


def test_verify_cannot_tell_when_it_is_denied(case: Case) -> None:
    case.bucket.faults = lambda _: Fault(403, "AccessDenied")
    done = case.verify()
    assert done.returncode == 3
    assert done.stderr.startswith("verify: could not tell: ")
