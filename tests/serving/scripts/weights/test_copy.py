"""What a copy of a model holds after a run, for each state of bucket and node."""

import json
import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

import termination
from tests.serving.scripts.onboard.onboard_case import BUCKET, SHARDS
from tests.serving.scripts.stands.moto import MotoBucket, moto_server
from tests.serving.scripts.weights.copy_case import FILES, TOTAL, Node, Ran, ended, filled, new_bucket

FIRST, SECOND, LAST = SHARDS
WHOLE = Ran(0, "fetched", len(FILES), TOTAL, TOTAL, "")
PRESENT = Ran(0, "present", len(FILES), TOTAL, 0, "")


@pytest.fixture(scope="module")
def moto() -> Iterator[str]:
    with moto_server() as url:
        yield url


@pytest.fixture(params=["ours", "moto"])
def either(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Node]:
    """A node with a bucket of our own stand, and with one of a server that was not written for these programs."""
    bucket = new_bucket() if request.param == "ours" else MotoBucket.made(request.getfixturevalue("moto"), BUCKET)
    yield filled(tmp_path / "node", bucket)
    bucket.close()


def test_the_copy_is_what_the_bucket_holds_and_is_fetched_once(either: Node):
    assert either.run() == WHOLE
    assert either.tree() == FILES
    assert either.run() == PRESENT
    assert either.arriving() == []
    # an object of the same size with other bytes, one that is gone, one that is new
    changed = bytes(reversed(FILES[LAST]))
    either.put(LAST, changed)
    either.put("new.json", b"{}")
    either.delete("extra/notes.txt")
    expected = {**FILES, LAST: changed, "new.json": b"{}"}
    del expected["extra/notes.txt"]
    assert either.run() == Ran(0, "fetched", len(expected), TOTAL + 2, len(changed) + 2, "")
    assert either.tree() == expected
    assert not (either.model / "extra").exists()


def test_a_run_that_finds_everything_asks_for_no_object(node: Node):
    node.run()
    node.bucket.requests.clear()
    assert node.run() == PRESENT
    assert all(request.lists for request in node.bucket.requests)


def test_an_engine_that_has_a_file_open_keeps_it(node: Node):
    node.run()
    with (node.model / LAST).open("rb") as opened:
        node.put(LAST, b"another")
        node.run()
        assert opened.read() == FILES[LAST]
    assert (node.model / LAST).read_bytes() == b"another"


def test_the_folder_that_engines_have_mounted_is_never_replaced(node: Node):
    node.run()
    before = node.model.stat().st_ino
    node.put(LAST, b"another")
    node.delete(SECOND)
    node.run()
    assert node.model.stat().st_ino == before


def test_an_object_that_vanished_is_removed_though_nothing_is_fetched(node: Node):
    node.run()
    node.delete(SECOND)
    rest = TOTAL - len(FILES[SECOND])
    assert node.run() == Ran(0, "present", len(FILES) - 1, rest, 0, "")
    assert SECOND not in node.tree()


def test_a_file_of_another_size_is_fetched_again(node: Node):
    node.run()
    os.truncate(node.model / FIRST, 100)
    assert node.run().fetched == len(FILES[FIRST])
    assert node.tree() == FILES


def test_a_file_may_become_a_folder_and_back(node: Node):
    node.put("x", b"1")
    node.run()
    node.delete("x")
    node.put("x/y", b"2")
    node.run()
    assert (node.model / "x/y").read_bytes() == b"2"
    node.delete("x/y")
    node.put("x", b"3")
    node.run()
    assert (node.model / "x").read_bytes() == b"3"


@pytest.mark.parametrize("key", ["boot", "source"])
def test_what_another_boot_or_another_bucket_left_does_not_count(node: Node, key: str):
    """Nothing is synced to the disk, so after a power cut a file may have its size and no bytes."""
    node.run()
    state = node.root / "state.json"
    state.write_text(json.dumps({**json.loads(state.read_text()), key: "another"}))
    (node.model / FIRST).write_bytes(bytes(len(FILES[FIRST])))
    assert node.run() == WHOLE
    assert node.tree() == FILES


@pytest.mark.parametrize("text", ["", "{", "[]", '{"boot": 1, "source": 2, "files": {"a": 3}}'])
def test_a_state_that_nobody_can_read_says_nothing(node: Node, text: str):
    node.run()
    (node.root / "state.json").write_text(text)
    assert node.run() == WHOLE
    assert node.tree() == FILES


def test_every_user_may_read_whatever_the_umask_is(node: Node):
    """Two servers of one model share the copy, and may run as two users."""
    node.run(umask=0o077)
    found = [node.model, *node.model.rglob("*")]
    assert {stat.S_IMODE(path.stat().st_mode) for path in found if path.is_dir()} == {0o755}
    assert {stat.S_IMODE(path.stat().st_mode) for path in found if path.is_file()} == {0o644}
    assert {path.stat().st_uid for path in found} == {os.geteuid()}


def test_two_at_once_fetch_once_and_both_end_well(node: Node):
    both = [node.start(), node.start()]
    assert sorted((ended(process) for process in both), key=lambda ran: ran.outcome) == [WHOLE, PRESENT]
    assert node.tree() == FILES
    ranges = [request.headers["range"] + request.key for request in node.bucket.requests if "range" in request.headers]
    assert len(ranges) == len(set(ranges))


def test_an_object_that_consoles_make_of_a_folder_is_no_file(node: Node):
    node.put("", b"")
    node.put("extra/", b"")
    assert node.run() == WHOLE
    assert node.tree() == FILES


def test_the_line_is_the_containers_message(node: Node, tmp_path: Path):
    message = tmp_path / "termination-log"
    message.write_text("of an earlier start")
    node.env[termination.VARIABLE] = str(message)
    node.run()
    assert message.read_text().startswith(f"local-weights: outcome=fetched files={len(FILES)} bytes={TOTAL} ")
