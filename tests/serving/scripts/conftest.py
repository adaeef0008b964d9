from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.serving.scripts.restore.rig import Rig
from tests.serving.scripts.stands.s3 import S3


@pytest.fixture
def s3(tmp_path: Path) -> Iterator[S3]:
    bucket = tmp_path / "bucket"
    bucket.mkdir()
    server = S3(bucket)
    yield server
    server.close()


@pytest.fixture
def rig(s3: S3, tmp_path: Path) -> Rig:
    return Rig(bucket=s3.folder, node=tmp_path / "node", url=s3.url)
