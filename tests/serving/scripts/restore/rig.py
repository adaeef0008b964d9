"""Runs restore.py as its pod does, against a local S3, and looks at what it leaves."""

import hashlib
import io
import os
import subprocess
import sys
import tarfile
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path

from manifest import BASE, MARKER, Folder, Manifest
from outcome import LINE
from tests.serving.scripts import program

FOLDER = Folder("vllm-openai:v0.26.0", "l40s", "chat", "abcdef0123456789")
KEYS = {"AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "secret"}

Tree = dict[str, bytes]


@dataclass
class Run:
    """How one run ended."""

    outcome: str
    restored: str
    bytes: int
    files: int
    reason: str
    wall: float


@dataclass
class Rig:
    """One bucket and one node."""

    bucket: Path
    node: Path
    url: str
    name: str = "bucket"
    folder: Folder = FOLDER
    env: dict[str, str] = field(default_factory=lambda: dict(KEYS))

    @property
    def target(self) -> Path:
        return self.node / "chat-a" / self.folder.fingerprint

    def command(self, *more: str) -> list[str]:
        where = {**asdict(self.folder), "bucket": self.name, "server": "chat-a", "cache": str(self.node)}
        given = [part for name, value in where.items() for part in (f"--{name}", value)]
        return [sys.executable, "-S", program("restore"), *given, *more]

    def start(self, *more: str, program: str = "", **popen) -> subprocess.Popen:
        """Start it; `program` is Python that runs it in a way of its own."""
        env = {"AWS_REGION": "eu-west-1", "AWS_ENDPOINT_URL": self.url, **self.env}
        command = self.command(*more)
        if program:
            command[2:2] = ["-c", program]
        return subprocess.Popen(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **popen)

    def run(self, *more: str, **popen) -> Run:
        """Run it, and check what holds however it ends: exit code 0, one line, the folder, nothing half-made."""
        started = time.monotonic()
        process = self.start(*more, **popen)
        out, errors = process.communicate(timeout=60)
        wall = time.monotonic() - started
        assert (process.returncode, errors) == (0, "")
        (line,) = out.splitlines()
        found = LINE.fullmatch(line)
        assert found, line
        assert self.target.is_dir()
        assert self.left() == []
        return Run(found["outcome"], found["restored"], int(found["bytes"]), int(found["files"]), found["reason"], wall)

    def tree(self) -> Tree:
        return tree(self.target)

    def left(self) -> list[str]:
        return [path.name for path in self.target.parent.glob(".tmp-*")]

    def aside(self) -> list[Path]:
        return list(self.target.parent.glob(".aside-*"))


def tree(folder: Path) -> Tree:
    """Return contents by name, without the marker."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and path.name != MARKER
    }


def content(files: int = 40, size: int = 20_000, seed: bytes = b"a") -> Tree:
    return {
        f"vllm/{i % 7}/artifact_{i}.bin": hashlib.sha256(seed + bytes([i % 256])).digest() * (size // 32 + i)
        for i in range(files)
    }


def archive(members: Tree, mtime: str = "1790000000.123456789") -> bytes:
    """Return a tar as a cache build writes it."""
    raw = io.BytesIO()
    with tarfile.open(fileobj=raw, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for name, data in members.items():
            info = tarfile.TarInfo(name)
            info.size, info.pax_headers = len(data), {"mtime": mtime}
            tar.addfile(info, io.BytesIO(data))
    return raw.getvalue()


def publish(bucket: Path, raw: bytes, files: int, folder: Folder = FOLDER, sha256: str = "") -> Manifest:
    """Put archive and manifest into the bucket's folder."""
    manifest = Manifest(
        folder=folder,
        sha256=sha256 or hashlib.sha256(raw).hexdigest(),
        bytes=len(raw),
        files=files,
        created="2026-11-29T10:00:00Z",
        recipe={},
    )
    (bucket / folder.prefix).mkdir(parents=True)
    (bucket / manifest.archive_key).write_bytes(raw)
    (bucket / folder.manifest_key).write_bytes(manifest.dump())
    return manifest


def publish_base(bucket: Path, members: Tree) -> Manifest:
    folder = Folder(FOLDER.engine, FOLDER.gpu, FOLDER.model, BASE)
    return publish(bucket, archive(members), len(members), folder)


def owners(folder: Path) -> set[tuple[int, int]]:
    found = [folder, *folder.rglob("*")]
    return {(os.lstat(path).st_uid, os.lstat(path).st_gid) for path in found}
