from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.serving.scripts.pod.container import Pod


@pytest.fixture
def pods(tmp_path: Path) -> Iterator[Callable[..., Pod]]:
    made: list[Pod] = []

    def make(root: str = "cache", host: str = "chat-0") -> Pod:
        made.append(Pod(tmp_path / root, host))
        return made[-1]

    yield make
    for pod in made:
        pod.kill()
