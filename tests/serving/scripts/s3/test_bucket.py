"""What the writer of S3 does when it is not the only one, and when it is nobody yet."""

import hashlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from bucket import SMALLEST_PART, Bucket, ExistsError
from collect import Archive
from manifest import Folder
from publish import put_archive
from tests.serving.scripts.stands.agent import agent
from tests.serving.scripts.stands.moto import REGION, MotoBucket, moto_server
from tests.serving.scripts.stands.s3 import Fault
from tests.serving.scripts.stands.s3_writable import Object, WritableS3
from web import UnclearError, Web

NAME = "acme-dev-models"
FOLDER = Folder("vllm-openai:v0.26.0", "NVIDIA-L40S", "chat", "0123456789abcdef")
KEYS = {"AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "secret"}
MINE, OTHER = b"mine" * (SMALLEST_PART // 4 + 100), b"another's"
HOW = {"at once": 2 * SMALLEST_PART, "in parts": SMALLEST_PART}
"""Bytes of a part."""


@pytest.fixture(scope="module", params=["stand-in", "moto"])
def server(request: pytest.FixtureRequest) -> Iterator[WritableS3 | MotoBucket]:
    if request.param == "moto":
        with moto_server() as url:
            yield MotoBucket.made(url, NAME)
    else:
        made = WritableS3(NAME)
        yield made
        made.close()


def client(url: str, patience: float = 5, **env: str) -> Bucket:
    return Bucket(Web(patience), NAME, {"AWS_REGION": REGION, "AWS_ENDPOINT_URL": url, **(env or KEYS)})


def archive(folder: Path, body: bytes) -> Archive:
    path = folder / "whole.tar"
    path.write_bytes(body)
    return Archive(path, hashlib.sha256(body).hexdigest(), len(body), 1)


@pytest.mark.parametrize("how", HOW)
def test_an_archive_that_is_there_is_a_success_and_stays(server: WritableS3 | MotoBucket, tmp_path: Path, how: str):
    bucket, made = client(server.url), archive(tmp_path, MINE + how.encode())
    key = FOLDER.archive_key(made.sha256)
    for _ in range(2):
        put_archive(bucket, FOLDER, made, HOW[how])
        made.path.write_bytes(OTHER.ljust(made.bytes))  # what is there must stay the first
        assert hashlib.sha256(server.objects[key].body).hexdigest() == made.sha256
    assert list(bucket.uploads(FOLDER.prefix)) == []


def test_a_large_object_is_new_only_when_that_was_asked_for(server: WritableS3 | MotoBucket):
    bucket, key = client(server.url), "models/x"
    for body, only_new in ((b"1", True), (b"2", False)):
        upload = bucket.start(key, {})
        bucket.finish(key, upload, iter([bucket.part(key, upload, 1, memoryview(body))]), 1, only_new=only_new)
    upload = bucket.start(key, {})
    part = bucket.part(key, upload, 1, memoryview(b"3"))
    with pytest.raises(ExistsError, match=r"^models/x: is there already$"):
        bucket.finish(key, upload, iter([part]), 1, only_new=True)
    bucket.abort(key, upload)
    assert server.objects[key].body == b"2"


def test_an_archive_that_came_while_the_answer_was_200_is_a_success(tmp_path: Path):
    """CompleteMultipartUpload may say 200 first, and then what went wrong."""
    server, made = WritableS3(NAME), archive(tmp_path, MINE)
    server.faults = lambda ask: (
        Fault(200, "PreconditionFailed") if ask.method == "POST" and "uploadId" in ask.query else None
    )
    server.objects[FOLDER.archive_key(made.sha256)] = Object(MINE)
    put_archive(client(server.url), FOLDER, made, SMALLEST_PART)
    assert server.uploads == {}
    server.close()


def test_credentials_that_were_not_there_in_time_are_no_answer(tmp_path: Path):
    with agent(0) as quick, pytest.raises(UnclearError, match=r"^no AWS credentials: limit reached$"):
        client("http://127.0.0.1:9", 0, **quick.env(tmp_path)).get("models/x")
