"""A cache build as a process of its own: stub engine, local bucket, a root that stays (paths are recorded)."""

import io
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tarfile
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.serving.scripts import SCRIPTS, load, stub_engine_path
from tests.serving.scripts.s3_writable import Bucket

report = load("build_report")

BUCKET = "acme-dev-models"
ENGINE, GPU, MODEL, FINGERPRINT = "vllm-openai:v0.26.0", "NVIDIA-L40S", "chat", "0123456789abcdef"
PREFIX = f"vllm-cache/{ENGINE}/{GPU}/{MODEL}"
SECRET_KEY = "wJalrXUtnFEMIK7MDENGbPxRfiCYSECRETKEY000"  # noqa: S105 - made up


def free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


@dataclass
class Case:
    """What a Job would be given."""

    root: Path
    bucket: Bucket
    arguments: list[str] = field(default_factory=list)
    running: list[subprocess.Popen[str]] = field(default_factory=list)

    def environment(self, **more: str) -> dict[str, str]:
        root = self.root
        return {
            "PATH": os.environ["PATH"],
            "AWS_REGION": "us-west-2",
            "AWS_ACCESS_KEY_ID": "AKIDLOCAL",
            "AWS_SECRET_ACCESS_KEY": SECRET_KEY,
            "AWS_ENDPOINT_URL": self.bucket.url,
            "HOME": f"{root}/home",
            "VLLM_CACHE_ROOT": f"{root}/vllm",
            "FLASHINFER_WORKSPACE_BASE": f"{root}/flashinfer",
            "TRITON_CACHE_DIR": f"{root}/triton",
            "PYTHONPYCACHEPREFIX": f"{root}/pycache",
            **more,
        }

    def start(self, *flags: str, **more: str) -> subprocess.Popen[str]:
        port = str(free_port())
        process = subprocess.Popen(
            [
                *(sys.executable, "-B", SCRIPTS / "build.py", "--bucket", BUCKET, "--engine", ENGINE, "--gpu", GPU),
                *("--model", MODEL, "--fingerprint", FINGERPRINT, "--engine-version", "0.26.0", "--port", port),
                *("--root", str(self.root), "--limit", "20", "--patience", "3", *self.arguments),
                *("--", sys.executable, "-B", stub_engine_path(), "/models", "--port", port, *flags),
            ],
            env=self.environment(**more),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        self.running.append(process)
        return process

    def run(self, *flags: str, code: int = 0, **more: str) -> dict[str, str]:
        """Build; returns the fields of its last line."""
        process = self.start(*flags, **more)
        log, _ = process.communicate(timeout=60)
        assert process.returncode == code, log
        found = report.LINE.fullmatch(log.rstrip("\n").rpartition("\n")[2])
        assert found, log
        return {**found.groupdict(), "log": log}

    def kill(self) -> None:
        while self.running:
            process = self.running.pop()
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            process.stdout.close()
            # the engine's group is its own
            for left in self.processes():
                os.kill(left, signal.SIGKILL)

    def processes(self) -> list[int]:
        """Return what still runs with this case's environment."""
        found = []
        for entry in Path("/proc").glob("[0-9]*/environ"):
            with suppress(OSError):
                if f"HOME={self.root}/home".encode() in entry.read_bytes():
                    found.append(int(entry.parent.name))
        return found

    @property
    def keys(self) -> list[str]:
        return sorted(self.bucket.objects)

    def manifest(self, folder: str) -> dict[str, Any]:
        return json.loads(self.bucket.objects[f"{PREFIX}/{folder}/manifest.json"])

    def archive(self, folder: str) -> tarfile.TarFile:
        body = self.bucket.objects[f"{PREFIX}/{folder}/{self.manifest(folder)['archive']}"]
        return tarfile.open(fileobj=io.BytesIO(body))

    def check(self) -> None:
        """Every manifest speaks of an archive that is there, whole, and readable by the restore's own rules."""
        manifest = load("manifest")
        for key, found in self.bucket.objects.items():
            if not key.endswith("/manifest.json"):
                continue
            folder = manifest.Folder(ENGINE, GPU, MODEL, key.split("/")[-2])
            said = manifest.parse(found, folder)
            body = self.bucket.objects[said.archive_key]
            assert len(body) == said.bytes
            assert load("hashlib").sha256(body).hexdigest() == said.sha256
            with tarfile.open(fileobj=io.BytesIO(body)) as tar:
                assert sum(not member.isdir() for member in tar) == said.files

    def wipe(self) -> None:
        shutil.rmtree(self.root, ignore_errors=True)
