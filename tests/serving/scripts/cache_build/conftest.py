from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.serving.scripts.cache_build.build_case import BUCKET, Case
from tests.serving.scripts.stands.s3_writable import WritableS3


@pytest.fixture
def case(tmp_path: Path) -> Iterator[Case]:
    bucket = WritableS3(BUCKET)
    made = Case(tmp_path / "vllm-cache", bucket)
    yield made
    made.kill()
    bucket.close()
