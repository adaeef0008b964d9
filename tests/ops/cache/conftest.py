"""A local S3 with the dev stack's bucket, and caches in it."""

import hashlib
import json
from datetime import datetime
from unittest import mock

import pytest
from botocore.awsrequest import AWSResponse

from ops.cache import prune, shelf
from ops.programs import Manifest
from tests.ops.cache.bucket import BUCKET, OLD


@pytest.fixture
def s3(aws):
    client = aws("s3")
    client.create_bucket(Bucket=BUCKET, CreateBucketConfiguration={"LocationConstraint": "us-west-2"})
    return client


@pytest.fixture
def key(ops):
    return json.loads(ops("cache", "key", "--server", "gemma", "--json")[1])


@pytest.fixture
def put(s3):
    """`put(folder, b"...")`: an archive; with `named=True` and its manifest."""

    def write(folder, content, *, named=True):
        sha256 = hashlib.sha256(content).hexdigest()
        s3.put_object(Bucket=BUCKET, Key=folder.archive_key(sha256), Body=content)
        if named:
            manifest = Manifest(
                folder=folder,
                sha256=sha256,
                bytes=len(content),
                files=1,
                created="2026-11-29T10:00:00Z",
                recipe={"engineVersion": "0.33.0"},
            )
            s3.put_object(Bucket=BUCKET, Key=folder.manifest_key, Body=manifest.dump())
        return folder.archive_key(sha256)

    return write


@pytest.fixture
def later(monkeypatch):
    """`prune` two days from now."""

    class Later(datetime):
        @classmethod
        def now(cls, tz=None):
            return datetime.now(tz) + OLD

    monkeypatch.setattr(prune, "datetime", Later)


@pytest.fixture
def owner(monkeypatch):
    """`owner(account)`: from now on S3 refuses what does not expect this owner; returns the calls that it answers.

    As the API's reference has it (moto minds no owner): 403 and AccessDenied.
    """
    real = shelf.aws.client

    def make(account):
        calls = []

        def answer(request, event_name, **_):
            if request.headers.get("x-amz-expected-bucket-owner", b"").decode() == account:
                calls.append(event_name.rpartition(".")[2])
                return None
            said = b"<Error><Code>AccessDenied</Code><Message>Access Denied</Message></Error>"
            raw = mock.Mock(stream=lambda: iter([said]))
            return AWSResponse(request.url, 403, {}, raw)

        def client(*asked):
            made = real(*asked)
            made.meta.events.register("before-send.s3", answer)
            return made

        monkeypatch.setattr(shelf.aws, "client", client)
        return calls

    return make
