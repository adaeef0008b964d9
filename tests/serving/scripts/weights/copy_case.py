"""Runs local_weights.py as its container does, and looks at what it leaves on the node."""

import os
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from local_weights import LINE
from tests.serving.scripts import program
from tests.serving.scripts.onboard.onboard_case import BUCKET, PREFIX, REGION, TO, checkpoint
from tests.serving.scripts.stands.moto import MotoBucket
from tests.serving.scripts.stands.s3_writable import Object, WritableS3

DEADLINE = 60.0
"""Seconds that anything may take on a busy machine."""

FILES = checkpoint()
TOTAL = sum(len(body) for body in FILES.values())


_AS_MAIN = """
import os, runpy, sys
sys.argv = sys.argv[1:]
sys.path[0] = os.path.dirname(sys.argv[0])
runpy.run_path(sys.argv[0], run_name="__main__")
"""


@dataclass
class Ran:
    """How one run ended."""

    code: int
    outcome: str
    files: int
    bytes: int
    fetched: int
    reason: str


def ended(process: subprocess.Popen) -> Ran:
    """Wait for its end, and check what holds of every one: one line, in its format."""
    out, errors = process.communicate(timeout=DEADLINE)
    assert errors == ""
    (line,) = out.splitlines()
    found = LINE.fullmatch(line)
    assert found, line
    numbers = (int(found[name]) for name in ("files", "bytes", "fetched"))
    return Ran(process.returncode, found["outcome"], *numbers, found["reason"])


@dataclass
class Node:
    """One node, and the bucket that it reads."""

    root: Path
    bucket: WritableS3 | MotoBucket
    env: dict[str, str] = field(default_factory=dict)

    @property
    def model(self) -> Path:
        return self.root / "model"

    def start(self, *more: str, prelude: str = "", **popen) -> subprocess.Popen:
        """Start it. `prelude`: Python that changes something for it first."""
        run = ["-c", f"{prelude}\n{_AS_MAIN}"] if prelude else []
        command = [sys.executable, *run, program("local_weights"), f"--from={TO}", f"--to={self.root}", *more]
        env = {
            "PATH": os.environ["PATH"],
            "AWS_ENDPOINT_URL_S3": self.bucket.url,
            "AWS_REGION": REGION,
            "AWS_ACCESS_KEY_ID": "AKIDEXAMPLE",
            "AWS_SECRET_ACCESS_KEY": "s3cr3t-aws-key",
            **self.env,
        }
        return subprocess.Popen(
            command,
            env={name: value for name, value in env.items() if value},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            **popen,
        )

    def run(self, *more: str, **popen) -> Ran:
        return ended(self.start(*more, **popen))

    def tree(self) -> dict[str, bytes]:
        found = [path for path in self.model.rglob("*") if path.is_file()]
        return {str(path.relative_to(self.model)): path.read_bytes() for path in found}

    def arriving(self) -> list[Path]:
        return sorted((self.root / "arriving").glob("*"))

    def put(self, name: str, body: bytes) -> None:
        if isinstance(self.bucket, MotoBucket):
            self.bucket.put(PREFIX + name, body)
        else:
            self.bucket.objects[PREFIX + name] = Object(body)

    def delete(self, name: str) -> None:
        if isinstance(self.bucket, MotoBucket):
            self.bucket.delete(PREFIX + name)
        else:
            del self.bucket.objects[PREFIX + name]


def filled(root: Path, bucket: WritableS3 | MotoBucket) -> Node:
    """Return a node with nothing on it, and the bucket with the checkpoint."""
    node = Node(root, bucket)
    for name, body in FILES.items():
        node.put(name, body)
    return node


def until(condition: Callable[[], object]) -> None:
    """Wait for it, for as long as a busy machine may need."""
    end = time.monotonic() + DEADLINE
    while not condition():
        assert time.monotonic() < end, "never came true"
        time.sleep(0.01)


def new_bucket() -> WritableS3:
    return WritableS3(BUCKET)
