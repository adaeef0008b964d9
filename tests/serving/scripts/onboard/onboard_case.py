"""A small checkpoint, and the programs run as the pod runs them: another process, an environment of its own."""

import json
import os
import random
import subprocess
import sys

from tests.serving.scripts import program
from tests.serving.scripts.stands.hub import COMMIT, REPOSITORY, FakeHub
from tests.serving.scripts.stands.moto import MotoBucket
from tests.serving.scripts.stands.s3_writable import WritableS3

BUCKET, REGION = "models-bucket", "us-west-2"
PREFIX = "models/tiny-1b/r1/"
TO = f"s3://{BUCKET}/{PREFIX}"
INDEX = "model.safetensors.index.json"
MARKER = ".complete.json"
SHARDS = [f"model-0000{number}-of-00003.safetensors" for number in (1, 2, 3)]


def shard(size: int, seed: int) -> bytes:
    """Return a safetensors file of about that size."""
    header = json.dumps({f"layer.{seed}": {"dtype": "U8", "shape": [size], "data_offsets": [0, size]}}).encode()
    block = random.Random(seed).randbytes(1024**2 + 7)  # noqa: S311 - content, no part of it like the next
    return len(header).to_bytes(8, "little") + header + (block * (size // len(block) + 1))[:size]


def checkpoint(sizes: tuple[int, int, int] = (11_000_000, 6_000_000, 100_000)) -> dict[str, bytes]:
    """Return three shards (three parts, two parts and one part of 5 MiB) and what belongs to them."""
    weights = {f"layer.{number}": name for number, name in enumerate(SHARDS)}
    return {
        **{name: shard(size, number) for number, (name, size) in enumerate(zip(SHARDS, sizes, strict=True))},
        INDEX: json.dumps({"metadata": {"total_size": sum(sizes)}, "weight_map": weights}).encode(),
        "config.json": b'{"model_type": "llama"}',
        "tokenizer.json": b'{"version": "1.0"}' + b" " * 8192,
        "README.md": b"# tiny",
        ".gitattributes": b"*.safetensors filter=lfs",
        "extra/notes.txt": b"",
    }


def environment(hub: FakeHub, bucket: WritableS3 | MotoBucket, **more: str) -> dict[str, str]:
    return {
        "PATH": os.environ["PATH"],
        "HF_ENDPOINT": hub.url,
        "AWS_ENDPOINT_URL_S3": bucket.url,
        "AWS_REGION": REGION,
        "AWS_ACCESS_KEY_ID": "AKIDEXAMPLE",
        "AWS_SECRET_ACCESS_KEY": "s3cr3t-aws-key",
        **more,
    }


def onboard_command(*more: str, revision: str = COMMIT, repository: str = REPOSITORY, to: str = TO) -> list[str]:
    given = ["--repository", repository, "--revision", revision, "--to", to]
    return [sys.executable, program("onboard"), *given, "--part-mib", "5", "--streams", "4", *more]


def run(command: list[str], env: dict[str, str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, env=env, capture_output=True, text=True, timeout=60, check=False)


class Case:
    """One hub, one bucket, one checkpoint."""

    def __init__(self, bucket: WritableS3 | MotoBucket | None = None, hub: FakeHub | None = None) -> None:
        self.hub, self.bucket = hub or FakeHub(checkpoint()), bucket or WritableS3(BUCKET)
        self.env: dict[str, str] = {}
        self.left_out: set[str] = set()

    def close(self) -> None:
        self.hub.close()
        self.bucket.close()

    def onboard(self, *more: str, patience: str = "5", **place: str) -> subprocess.CompletedProcess[str]:
        command = onboard_command("--patience", patience, *more, **place)
        env = environment(self.hub, self.bucket, **self.env)
        return run(command, {name: value for name, value in env.items() if name not in self.left_out})

    def verify(self, *more: str, folder: str = TO) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, program("verify"), folder, "--patience", "2", *more]
        env = environment(self.hub, self.bucket, **self.env)
        return run(command, {name: value for name, value in env.items() if name not in self.left_out})

    @property
    def wanted(self) -> dict[str, bytes]:
        return {PREFIX + name: body for name, body in self.hub.files.items() if not name.startswith(".")}

    @property
    def stored(self) -> dict[str, bytes]:
        return {key: item.body for key, item in self.bucket.objects.items() if not key.endswith(MARKER)}

    @property
    def complete(self) -> bool:
        return PREFIX + MARKER in self.bucket.objects
