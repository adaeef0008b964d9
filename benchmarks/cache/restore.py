"""The restore of a start-up cache against what people use for it, as ratios of one run on this machine.

    python -m benchmarks.cache.restore [--rounds 3] [--only NAME...]

All of them get the same content from the same server on loopback into memory: the restore as one archive, the others as
1,204 loose files. Interleaved, and each run is checked. Client and server share this machine's cores; there is no TLS.
The restore runs without bytecode, as from a ConfigMap; the others have theirs. They come from requirements-bench.txt.
"""

import argparse
import hashlib
import multiprocessing
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tarfile
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "serving/scripts/restore"))

from manifest import Folder, Manifest  # noqa: E402 - the pods' programs import each other by plain name
from rehearsal.toolchain.venv import prepare as prepare_tools  # noqa: E402
from serving.programs import files  # noqa: E402
from tests.serving.scripts.stands.synthetic import write  # noqa: E402

LATENCIES = (0.0, 0.025, 0.1)
REQUIRED = {0.0: 3, 0.025: 4, 0.1: 8}
FOLDER = Folder("engine", "gpu", "model", "abcdef0123456789")
BASELINE = "aws s3 sync"
TOOLS = ROOT / ".venv/bench/bin"
"""Not in the checks' own environment: no test may come to need them."""

BOTO3 = """
import sys, pathlib, concurrent.futures, boto3, botocore.config
endpoint, target = sys.argv[1:]
client = boto3.client("s3", endpoint_url=endpoint, config=botocore.config.Config(max_pool_connections=32))
def get(key):
    path = pathlib.Path(target, key.removeprefix("loose/"))
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(client.get_object(Bucket="bucket", Key=key)["Body"].read())
pages = client.get_paginator("list_objects_v2").paginate(Bucket="bucket", Prefix="loose/")
with concurrent.futures.ThreadPoolExecutor(32) as pool:
    list(pool.map(get, [entry["Key"] for page in pages for entry in page["Contents"]]))
"""


@contextmanager
def server(bucket: Path, latency: float) -> Iterator[str]:
    program = [sys.executable, str(ROOT / "tests/serving/scripts/stands/s3.py"), str(bucket), str(latency)]
    with subprocess.Popen(program, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        yield process.stdout.readline().strip()
        process.terminate()


def commands(programs: Path, url: str, target: Path) -> dict[str, list[str]]:
    arguments = {**vars(FOLDER), "bucket": "bucket", "server": "chat", "cache": str(target)}
    return {
        "restore": [
            *(sys.executable, "-S", "-B", str(programs / "restore.py")),
            *(part for name, value in arguments.items() for part in (f"--{name}", value)),
        ],
        BASELINE: [
            str(TOOLS / "aws"),
            "--endpoint-url",
            url,
            "s3",
            "sync",
            "--quiet",
            "s3://bucket/loose",
            str(target),
        ],
        "s5cmd cp": [
            str(TOOLS / "s5cmd"),
            "--endpoint-url",
            url,
            "--log",
            "error",
            "cp",
            "s3://bucket/loose/*",
            f"{target}/",
        ],
        "boto3, 32 threads": [str(TOOLS / "python"), "-c", BOTO3, url, str(target)],
    }


def measure(command: list[str], url: str) -> tuple[float, float, float]:
    """Return wall seconds, CPU seconds and MB of the largest resident set."""
    env = {"PATH": os.environ["PATH"], "HOME": "/nonexistent", "AWS_ENDPOINT_URL": url, "AWS_REGION": "us-east-1"}
    env |= {"AWS_ACCESS_KEY_ID": "x", "AWS_SECRET_ACCESS_KEY": "y", "AWS_EC2_METADATA_DISABLED": "true"}
    started = time.perf_counter()
    process = subprocess.Popen(command, env=env, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{command[0]}: exit code {process.returncode}")
    return time.perf_counter() - started, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def digest(folder: Path) -> str:
    """Return a hash over names and contents, so that every run is known to have done the whole work."""
    total = hashlib.sha256()
    for path in sorted(path for path in folder.rglob("*") if path.is_file() and not path.name.startswith(".")):
        with path.open("rb") as file:
            total.update(f"{path.relative_to(folder)}\0".encode() + hashlib.file_digest(file, "sha256").digest())
    return total.hexdigest()


def publish(content: Path, bucket: Path, folder: Folder) -> Manifest:
    """Put archive and manifest of the content where a server of files serves them."""
    at = bucket / folder.prefix
    at.mkdir(parents=True)
    made = at / "made.tar"
    files = 0
    with tarfile.open(made, "w", format=tarfile.PAX_FORMAT) as tar:
        for path in sorted(content.rglob("*")):
            info = tar.gettarinfo(path, str(path.relative_to(content)))
            nanoseconds = path.stat().st_mtime_ns
            info.pax_headers = {"mtime": f"{nanoseconds // 10**9}.{nanoseconds % 10**9:09d}"}
            files += path.is_file()
            with path.open("rb") if path.is_file() else open(os.devnull, "rb") as data:  # noqa: PTH123
                tar.addfile(info, data)
    digest = hashlib.sha256(made.read_bytes()).hexdigest()
    manifest = Manifest(
        folder=folder, sha256=digest, bytes=made.stat().st_size, files=files, created="2026-11-29T10:00:00Z", recipe={}
    )
    made.rename(bucket / manifest.archive_key)
    (bucket / folder.manifest_key).write_bytes(manifest.dump())
    return manifest


def prepare(bucket: Path) -> None:
    """In a process of its own: the kernel counts the parent's memory as its children's peak."""
    write(bucket / "loose")
    publish(bucket / "loose", bucket, FOLDER)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", nargs="*", help="methods to run")
    options = parser.parse_args()
    prepare_tools(TOOLS.parent, ROOT / "requirements-bench.txt")
    with tempfile.TemporaryDirectory(dir="/dev/shm") as scratch:
        bucket, target, programs = (Path(scratch, name) for name in ("bucket", "target", "programs"))
        programs.mkdir()
        for name, text in files("restore").items():
            (programs / name).write_text(text)
        preparing = multiprocessing.Process(target=prepare, args=(bucket,))
        preparing.start()
        preparing.join()
        want = digest(bucket / "loose")
        for latency in LATENCIES:
            runs: dict[str, list[tuple[float, float, float]]] = defaultdict(list)
            with server(bucket, latency) as url:
                for _ in range(options.rounds):
                    for name, command in commands(programs, url, target).items():
                        if options.only and name not in options.only:
                            continue
                        shutil.rmtree(target, ignore_errors=True)
                        target.mkdir()
                        runs[name].append(measure(command, url))
                        got = target / "chat" / FOLDER.fingerprint if name == "restore" else target
                        if digest(got) != want:
                            raise SystemExit(f"{name}: the content is another")
            report(latency, runs)


def report(latency: float, runs: dict[str, list[tuple[float, float, float]]]) -> None:
    medians = {name: [statistics.median(run[i] for run in found) for i in range(3)] for name, found in runs.items()}
    base = medians.get(BASELINE, next(iter(medians.values())))
    print(f"\n{latency * 1000:.0f} ms to the first byte (required: {REQUIRED[latency]}x in wall time, 0.4 of the CPU)")
    print(f"{'':20}{'wall s':>8}{'faster':>9}{'CPU s':>8}{'of CPU':>8}{'peak MB':>9}")
    for name, (wall, cpu, memory) in medians.items():
        print(f"{name:20}{wall:8.2f}{base[0] / wall:8.1f}x{cpu:8.2f}{cpu / base[1]:8.2f}{memory:9.0f}", flush=True)


if __name__ == "__main__":
    resource.setrlimit(resource.RLIMIT_NOFILE, (4096, 4096))
    main()
