"""Ranges of the hub's files, asked for by several streams at once."""

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from hub import Hub
from tests.serving.scripts.stands.hub import COMMIT, REPOSITORY, Ask, FakeHub
from web import RefusedError, Web

NAME, SIZE = "model.safetensors", 30_000
BODY = bytes(range(250)) * (SIZE // 250)


@pytest.fixture
def served() -> Iterator[FakeHub]:
    made = FakeHub({NAME: BODY})
    yield made
    made.close()


def test_two_streams_that_meet_one_expired_address_both_ask_again(served: FakeHub):
    hub = Hub(Web(5), served.url, REPOSITORY, COMMIT, "")
    (file,) = hub.files()
    together = threading.Barrier(2, timeout=5)

    def expired(ask: Ask) -> tuple[int, dict[str, str]] | None:
        if ask.name == NAME and ask.count in (2, 3):
            together.wait()
            return 403, {}
        return None

    served.fault = expired
    hub.read(file, 0, memoryview(bytearray(10)))
    halves = [memoryview(bytearray(SIZE // 2)) for _ in range(2)]
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(lambda start: hub.read(file, start, halves[start > 0]), (0, SIZE // 2)))
    assert b"".join(halves) == BODY


def test_an_address_that_was_new_and_is_refused_is_a_refusal(served: FakeHub):
    hub = Hub(Web(5), served.url, REPOSITORY, COMMIT, "")
    (file,) = hub.files()
    served.fault = lambda ask: (403, {}) if ask.name == NAME else None
    with pytest.raises(RefusedError, match=rf"^{NAME}: the content network answers 403$"):
        hub.read(file, 0, memoryview(bytearray(10)))
