from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.serving.front.pod import Pod


@pytest.fixture
def pods() -> Iterator[Callable[..., Pod]]:
    """`pods(...)`: a pod that is there and not started; all are gone at the end, and show their log on a failure."""
    made: list[Pod] = []

    def make(**more: Any) -> Pod:
        made.append(Pod(**more))
        return made[-1]

    yield make
    for pod in made:
        if pod.log.exists():
            lines = pod.log.read_text().splitlines()
            print("\n".join([line for line in lines if '"GET /ready' not in line][-60:]))
        pod.close()
