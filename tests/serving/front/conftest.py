import shutil
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.serving.front.pod import Pod


@pytest.fixture(scope="session", autouse=True)
def nginx() -> None:
    """Without it nothing here would be tested, and in silence."""
    if not shutil.which("nginx"):
        pytest.fail("nginx is not on PATH: apt-get install nginx-light (.ci/run does)", pytrace=False)


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
