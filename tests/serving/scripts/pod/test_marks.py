"""Wrappers that look at the same marks at the same moment."""

import contextlib
import fcntl
import os
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import marks
import wrapper
from tests.serving.scripts.pod.container import DROPPED, Pod, wait_for


@contextlib.contextmanager
def looking(root: Path) -> Iterator[None]:
    """Look at the folder's marks for a while, as a wrapper does."""
    with marks.alone(root), contextlib.ExitStack() as held:
        for path in root.glob(".starting-*"):
            file = os.open(path, os.O_RDONLY)
            held.callback(os.close, file)
            fcntl.flock(file, fcntl.LOCK_EX)
        yield


def test_a_look_at_a_dead_mark_is_not_taken_for_a_living_start(pods):
    pod = pods()
    pod.serves()
    pod.dies(STUB_REFUSES="1")
    with looking(pod.root):
        process = pod.start()
        time.sleep(0.5)
    pod.until_ready(process)
    pod.kill()
    assert (pod.root / ".dropped-torch_compile_cache").exists()


def test_of_two_that_find_one_dead_mark_only_one_drops_and_none_loses_its_own(pods):
    one, two = pods(host="chat-0"), pods(host="chat-1")
    one.serves()
    one.dies(STUB_REFUSES="1")
    with looking(one.root):
        both = [pod.start(STUB_SECONDS="1") for pod in (one, two)]
        time.sleep(0.5)
    wait_for(lambda: one.marks == [".starting-chat-0", ".starting-chat-1"])
    for pod, process in zip((one, two), both, strict=True):
        pod.until_ready(process)
        process.terminate()
    logs = [process.communicate(timeout=10)[0] for process in both]
    assert [bool(DROPPED.search(log)) for log in logs].count(True) == 1, logs
    assert not any("cache ignored" in log for log in logs)


def test_a_dead_mark_is_not_removed_once_a_new_start_has_put_its_own_there(pods, monkeypatch: pytest.MonkeyPatch):
    """A pod of a StatefulSet comes back under its name while another one looks."""
    same: Pod = pods(host="chat-0")
    same.serves()
    same.dies(STUB_REFUSES="1")
    write = marks.write

    def meanwhile(root: Path, given_up: int) -> None:
        write(root, given_up)
        same.start(STUB_SECONDS="30")
        time.sleep(1)

    monkeypatch.setattr(marks, "write", meanwhile)
    monkeypatch.setenv("HOSTNAME", "chat-1")
    assert wrapper.prepared(same.root)
    wait_for(lambda: same.marks == [".starting-chat-0", ".starting-chat-1"])
    time.sleep(0.3)
    assert same.marks == [".starting-chat-0", ".starting-chat-1"]


def test_one_that_looks_for_ever_stops_nobody(pods, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(marks, "PATIENCE", 0.2)
    root = pods().root
    root.mkdir()
    with marks.alone(root):
        assert wrapper.prepared(root)
