"""What share of a local hub's and a local bucket's throughput onboarding takes. Ratios of one run, in turns.

The yardstick is a relay that does the unavoidable part alone: the same number of connections read the same ranges from
the hub and put them to the bucket, without a hash, a check, a signature or a retry. Hub and bucket are two processes of
their own; the bucket forgets what it gets. Twice: at 20 MB/s a connection and 25 ms to the first byte (a content
network), and without limits, where all four processes fight for this machine's cores and the hashes show.

Required: at least 80 % with limits. Prints MiB/s, the share, CPU seconds and the peak memory of the program.
"""

import http.client
import json
import multiprocessing
import os
import statistics
import subprocess
import sys
import threading
import time
import urllib.parse
from collections.abc import Callable
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, NamedTuple

from tests.serving.scripts.onboard.onboard_case import (
    BUCKET,
    INDEX,
    SHARDS,
    checkpoint,
    environment,
    onboard_command,
    shard,
)
from tests.serving.scripts.stands.hub import FakeHub
from tests.serving.scripts.stands.s3_writable import WritableS3

MIB = 1024**2
PART = 16 * MIB
STREAMS = 16
ROUNDS = 3
ROOT = Path(__file__).parents[2]
LIMITS = {"limited": (20e6, 0.025), "unlimited": (0.0, 0.0)}
SHARD = 512 * MIB
NAMES = [f"model-0000{number}-of-00004.safetensors" for number in range(1, 5)]
"""Four shards: one buffer, served four times."""


class Run(NamedTuple):
    wall: float
    cpu: float
    peak: float
    """MiB of memory."""


def weights_file() -> bytes:
    """Return a shard of exactly `SHARD` bytes, header included: both programs then move the same parts."""
    header = len(shard(SHARD, 0)) - SHARD
    return shard(SHARD - header, 0)


def serve_hub(pipe: Connection, rate: float, latency: float) -> None:
    files = checkpoint() | dict.fromkeys(NAMES, weights_file())
    weights = {f"layer.{number}": name for number, name in enumerate(NAMES)}
    files = {name: body for name, body in files.items() if name not in SHARDS}
    files[INDEX] = json.dumps({"weight_map": weights}).encode()
    hub = FakeHub(files, rate=rate, latency=latency)
    hub.hashes |= dict.fromkeys(NAMES, hub.sha256(NAMES[0]))
    pipe.send((hub.url, hub.content_url))
    pipe.recv()


class Forgetful(WritableS3):
    """Knows what the shards look like (onboarding reads their headers back) and forgets what it gets of them."""

    def __init__(self) -> None:
        super().__init__(BUCKET, keep=False)
        self.whole = weights_file()

    def serve(self, answering: Any) -> None:
        super().serve(answering)
        for key, item in list(self.objects.items()):
            if key.endswith(tuple(NAMES)) and not item.body:
                item.body = self.whole


def serve_bucket(pipe: Connection) -> None:
    bucket = Forgetful()
    pipe.send(bucket.url)
    while pipe.recv():
        bucket.objects.clear()
        bucket.requests.clear()
        pipe.send(None)


def process(serve: Callable[..., None], *args: float) -> tuple[Connection, Any]:
    ours, theirs = multiprocessing.Pipe()
    multiprocessing.get_context("fork").Process(target=serve, args=(theirs, *args), daemon=True).start()
    return ours, ours.recv()


def relay(hub: str, bucket: str) -> None:
    """Move every shard with bare connections."""
    size = SHARD
    jobs = iter([(name, start) for name in NAMES for start in range(0, size, PART)])
    lock = threading.Lock()

    def work() -> None:
        buffer = memoryview(bytearray(PART))
        source = http.client.HTTPConnection(urllib.parse.urlsplit(hub).netloc)
        target = http.client.HTTPConnection(urllib.parse.urlsplit(bucket).netloc)
        while True:
            with lock:
                name, start = next(jobs, ("", 0))
            if not name:
                return
            view = buffer[: min(PART, size - start)]
            source.request("GET", f"/{name}", headers={"Range": f"bytes={start}-{start + len(view) - 1}"})
            answer, got = source.getresponse(), 0
            while got < len(view):
                got += answer.readinto(view[got:])
            target.request("PUT", f"/{BUCKET}/relay/{name}-{start}", body=view)
            target.getresponse().read()

    threads = [threading.Thread(target=work) for _ in range(STREAMS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def timed(command: list[str], env: dict[str, str]) -> Run:
    """Run a program and return what it took."""
    started = time.monotonic()
    with subprocess.Popen(command, env=env, stdout=subprocess.DEVNULL) as child:
        _, status, used = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        sys.exit(f"{command}: {child.returncode}")
    return Run(time.monotonic() - started, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024)


def compared(rate: float, latency: float) -> tuple[list[Run], list[Run]]:
    """Run relay and onboarding in turns; return their rounds."""
    hub_pipe, (hub, content) = process(serve_hub, rate, latency)
    pipe, bucket = process(serve_bucket)
    env = environment(_Url(hub), _Url(bucket)) | {"PYTHONPATH": str(ROOT)}
    relayed, onboarded = list[Run](), list[Run]()
    for _ in range(ROUNDS):
        for command, found in (
            ([sys.executable, __file__, content, bucket], relayed),
            (onboard_command("--part-mib", str(PART // MIB), "--streams", str(STREAMS)), onboarded),
        ):
            found.append(timed(command, env))
            pipe.send(True)
            pipe.recv()
    hub_pipe.send(None)
    pipe.send(None)
    return relayed, onboarded


def main() -> int:
    """Print two lines a limit; return 1 when the share with limits is too small."""
    shares = {}
    gib = SHARD * len(NAMES) / 1024**3
    for kind, limits in LIMITS.items():
        walls = []
        for who, runs in zip(("relay", "onboarding"), compared(*limits), strict=True):
            wall, cpu, peak = (statistics.median(run[what] for run in runs) for what in range(3))
            walls.append(wall)
            speed, cost = gib * 1024 / wall, cpu / gib
            print(
                f"{kind:9} {who:10} {speed:5.0f} MiB/s  {cost:.2f} CPU s a GiB  {peak:4.0f} MiB of memory", flush=True
            )
        shares[kind] = walls[0] / walls[1]
        print(f"{kind:9} share {shares[kind]:.2f}")
    print(f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    return int(shares["limited"] < 0.8)


class _Url:
    """What `environment` asks of a server that lives in another process."""

    def __init__(self, url: str) -> None:
        self.url = url


if __name__ == "__main__":
    sys.exit(relay(*sys.argv[1:]) if len(sys.argv) > 1 else main())
