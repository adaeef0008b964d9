"""A copy may end at any moment: the next run goes on from what was whole, and completes it."""

import signal
import threading
from collections.abc import Iterator

import pytest

from tests.serving.scripts.onboard.onboard_case import PREFIX, SHARDS
from tests.serving.scripts.stands.s3 import Request
from tests.serving.scripts.weights.copy_case import DEADLINE, FILES, TOTAL, Node, ended, until

_, SECOND, LAST = SHARDS


class Held:
    """A bucket that answers nothing of one object until it is let go."""

    def __init__(self, node: Node, key: str) -> None:
        self.reached, self._go = threading.Event(), threading.Event()
        node.bucket.faults = self._hold
        self._key = key

    def _hold(self, request: Request) -> None:
        if request.key == self._key:
            self.reached.set()
            self._go.wait()

    def let_go(self) -> None:
        self._go.set()


@pytest.fixture
def held(node: Node) -> Iterator[Held]:
    made = Held(node, PREFIX + SECOND)
    yield made
    made.let_go()


def test_a_killed_copy_goes_on_from_the_files_that_were_whole(node: Node, held: Held):
    process = node.start()
    whole = len(FILES) - 1
    until(lambda: len([path for path in node.arriving() if path.suffix != ".part"]) == whole)
    process.kill()
    process.communicate()
    # an engine sees nothing of an unfinished copy
    assert node.tree() == {}
    held.let_go()
    ran = node.run()
    assert (ran.outcome, ran.fetched) == ("fetched", len(FILES[SECOND]))
    assert node.tree() == FILES
    assert node.arriving() == []


@pytest.mark.parametrize("moment", [1, 3, 4, 6, 9, 11])
def test_killed_at_any_request_the_next_run_completes_it(node: Node, moment: int):
    reached, go = threading.Event(), threading.Event()

    def hold(_request: Request) -> None:
        if len(node.bucket.requests) >= moment:
            reached.set()
            go.wait()

    node.bucket.faults = hold
    process = node.start()
    until(reached.is_set)
    process.kill()
    process.communicate()
    go.set()
    assert node.tree() == {}
    assert node.run().code == 0
    assert node.tree() == FILES


DIES_AT = """
import os, pathlib, signal
replace, left = pathlib.Path.replace, [{moment}]
def dying(path, to):
    if not left[0]: os.kill(os.getpid(), signal.SIGKILL)
    left[0] -= 1
    return replace(path, to)
pathlib.Path.replace = dying
"""


@pytest.mark.parametrize("moment", range(4))
@pytest.mark.parametrize("rolled_back", [True, False])
def test_killed_while_files_are_put_in_place_none_is_taken_for_another(node: Node, moment: int, rolled_back: bool):
    """Of the same size and with the ETag that was noted before, the new file would else pass for the old one."""
    node.run()
    changed = {name: bytes(reversed(FILES[name])) for name in (SECOND, LAST)}
    for name, body in changed.items():
        node.put(name, body)
    # the state, both files, the state
    assert node.start(prelude=DIES_AT.format(moment=moment)).wait(DEADLINE) == -signal.SIGKILL
    if rolled_back:
        for name in changed:
            node.put(name, FILES[name])
    assert node.run().code == 0
    assert node.tree() == (FILES if rolled_back else {**FILES, **changed})


def test_an_ordered_stop_is_one_line_and_keeps_what_was_whole(node: Node, held: Held):
    process = node.start()
    until(held.reached.is_set)
    process.send_signal(signal.SIGTERM)
    ran = ended(process)
    assert (ran.code, ran.outcome, ran.reason) == (3, "unclear", "stopped")
    held.let_go()
    assert node.run().code == 0
    assert node.tree() == FILES


def test_a_copy_that_never_ends_is_ended_at_its_limit(node: Node, held: Held):
    ran = node.run("--limit=1")
    assert (ran.code, ran.outcome, ran.reason) == (3, "unclear", "not done after 1 s")


def test_who_waits_for_another_pods_copy_does_so_no_longer_than_its_limit(node: Node, held: Held):
    first = node.start()
    until(held.reached.is_set)
    waiting = node.run("--limit=1")
    assert (waiting.code, waiting.reason) == (3, "not done after 1 s")
    held.let_go()
    assert ended(first).fetched == TOTAL
    assert node.run().outcome == "present"


def test_a_dead_process_holds_no_lock(node: Node, held: Held):
    first = node.start()
    until(held.reached.is_set)
    first.kill()
    first.communicate()
    held.let_go()
    assert node.run().code == 0
    assert node.tree() == FILES
