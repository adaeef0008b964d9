from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.serving.scripts.weights.copy_case import Node, filled, new_bucket


@pytest.fixture
def node(tmp_path: Path) -> Iterator[Node]:
    bucket = new_bucket()
    yield filled(tmp_path / "node", bucket)
    bucket.close()
