"""An S3 that was not written for these programs: moto's server, in a process of its own."""

import functools
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import boto3

from tests.serving.scripts.stands.s3_writable import Object

REGION = "us-west-2"
IN_MEMORY = {"MOTO_S3_DEFAULT_KEY_BUFFER_SIZE": str(2**30)}
"""Else each range of a large object reads the whole of it from a file."""


@contextmanager
def moto_server() -> Iterator[str]:
    """Give the address of a running server."""
    command = [sys.executable, "-m", "moto.server", "-p", "0"]
    with subprocess.Popen(
        command, env={**os.environ, **IN_MEMORY}, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    ) as server:
        url = next(line.split()[-1] for line in server.stderr if "Running on http" in line)
        # it logs every request, and would stop when nobody reads that
        threading.Thread(target=server.stderr.read, daemon=True).start()
        yield url
        server.kill()


@dataclass(frozen=True)
class MotoBucket:
    """One of its buckets, as the stand-ins show theirs."""

    url: str
    name: str

    @classmethod
    def made(cls, url: str, name: str) -> "MotoBucket":
        bucket = cls(url, name)
        bucket.client.create_bucket(Bucket=name, CreateBucketConfiguration={"LocationConstraint": REGION})
        return bucket

    @property
    def client(self) -> Any:
        return _client(self.url)

    @property
    def sizes(self) -> dict[str, int]:
        pages = self.client.get_paginator("list_objects_v2").paginate(Bucket=self.name)
        return {item["Key"]: item["Size"] for page in pages for item in page.get("Contents", [])}

    @property
    def objects(self) -> dict[str, Object]:
        found = {key: self.client.get_object(Bucket=self.name, Key=key) for key in self.sizes}
        return {key: Object(answer["Body"].read(), answer["Metadata"]) for key, answer in found.items()}

    def put(self, key: str, body: bytes) -> None:
        self.client.put_object(Bucket=self.name, Key=key, Body=body)

    def delete(self, key: str) -> None:
        self.client.delete_object(Bucket=self.name, Key=key)

    def close(self) -> None:
        """Leave it to the server's end."""


@functools.cache
def _client(url: str) -> Any:
    keys = {"aws_access_key_id": "key", "aws_secret_access_key": "secret"}
    return boto3.client("s3", endpoint_url=url, region_name=REGION, **keys)
