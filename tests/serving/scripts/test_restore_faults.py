"""Every fault ends in one line, an empty or complete folder and exit code 0, within the limit: `Rig.run` looks."""

import contextlib
import hashlib
import http.server
import itertools
import json
import os
import resource
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.serving.scripts.rig import FOLDER, Rig, archive, content, publish, publish_base
from tests.serving.scripts.s3 import S3, Fault, Faults, Request

ALL = content()
RAW = archive(ALL)
BASE = content(5, seed=b"base")


def is_archive(request: Request) -> bool:
    return request.key.endswith(".tar")


def first(times: int, which: Callable[[Request], bool], fault: Fault) -> Faults:
    count = itertools.count()
    return lambda request: fault if which(request) and next(count) < times else None


def published(rig: Rig) -> Path:
    return rig.bucket / publish(rig.bucket, RAW, len(ALL)).archive_key


def test_an_archive_that_is_missing_behind_its_manifest_is_corrupt(rig: Rig):
    published(rig).unlink()
    run = rig.run()
    assert (run.outcome, rig.tree()) == ("corrupt", {})
    assert "the manifest is there, its archive is not" in run.reason


def test_a_truncated_archive_is_corrupt_and_the_base_is_restored(rig: Rig):
    published(rig).write_bytes(RAW[: len(RAW) // 2])
    publish_base(rig.bucket, BASE)
    run = rig.run()
    assert (run.outcome, run.restored, rig.tree()) == ("corrupt", "base", BASE)
    assert run.reason == f"{FOLDER.fingerprint}: archive has {len(RAW) // 2} bytes, manifest says {len(RAW)}"


def test_an_archive_that_is_too_long_is_corrupt(rig: Rig):
    published(rig).write_bytes(RAW + bytes(512))
    assert (rig.run().outcome, rig.tree()) == ("corrupt", {})


def test_an_archive_with_another_hash_is_corrupt_though_it_could_be_extracted(rig: Rig):
    flipped = bytearray(RAW)
    flipped[len(RAW) // 2 + 7] ^= 1
    published(rig).write_bytes(flipped)
    run = rig.run()
    assert (run.outcome, rig.tree()) == ("corrupt", {})
    assert hashlib.sha256(flipped).hexdigest() in run.reason


def test_a_manifest_with_another_number_of_files_is_corrupt(rig: Rig):
    publish(rig.bucket, RAW, len(ALL) + 1)
    assert rig.run().reason == f"{FOLDER.fingerprint}: archive has 40 files, manifest says 41"


@pytest.mark.parametrize(
    "fault",
    [
        Fault(status=503, code="SlowDown"),
        Fault(status=500, code="InternalError"),
        Fault(status=400, code="RequestTimeout"),
        Fault(reset=True),
        Fault(cut=700),
    ],
    ids=str,
)
@pytest.mark.parametrize("which", [lambda r: r.lists, is_archive], ids=["list", "archive"])
def test_what_passes_on_a_second_attempt_is_a_hit(rig: Rig, s3: S3, fault: Fault, which: Callable[[Request], bool]):
    published(rig)
    s3.faults = first(2, which, fault)
    assert (rig.run().outcome, rig.tree()) == ("hit", ALL)


def test_a_bucket_that_stays_overloaded_is_a_timeout_with_its_reason(rig: Rig, s3: S3):
    published(rig)
    s3.faults = lambda request: Fault(status=503, code="SlowDown") if is_archive(request) else None
    run = rig.run("--limit", "2")
    assert (run.outcome, rig.tree()) == ("timeout", {})
    assert "503 SlowDown" in run.reason
    assert run.wall < 3


def test_a_slow_bucket_never_holds_the_pod_beyond_the_limit(rig: Rig, s3: S3):
    published(rig)
    s3.faults = lambda request: Fault(rate=20_000) if is_archive(request) else None
    run = rig.run("--limit", "2")
    assert (run.outcome, rig.tree()) == ("timeout", {})
    assert 1 < run.wall < 3


def test_a_bucket_that_never_answers_is_a_timeout(rig: Rig, s3: S3):
    s3.latency = 30
    run = rig.run("--limit", "1.5")
    assert run.outcome == "timeout"
    assert run.wall < 2.5


def test_an_endpoint_that_nobody_listens_on_is_a_timeout(rig: Rig):
    rig.url = "http://127.0.0.1:9"
    assert "refused" in rig.run("--limit", "1.5").reason


@pytest.mark.parametrize(
    ("fault", "reason"),
    [
        (Fault(status=403, code="AccessDenied"), "403 AccessDenied"),
        (Fault(status=404, code="NoSuchBucket"), "404 NoSuchBucket"),
        (Fault(status=403, code="ExpiredToken"), "403 ExpiredToken"),
        (
            Fault(status=301, code="PermanentRedirect", headers={"x-amz-bucket-region": "us-west-2"}),
            "301 PermanentRedirect (bucket is in us-west-2, AWS_REGION is eu-west-1)",
        ),
    ],
    ids=lambda value: value.code if isinstance(value, Fault) else "",
)
def test_a_refusal_is_denied_at_once(rig: Rig, s3: S3, fault: Fault, reason: str):
    s3.faults = lambda _: fault
    run = rig.run()
    assert (run.outcome, run.reason) == ("denied", f"list {FOLDER.prefix}: {reason}")
    assert run.wall < 2.5


def test_an_archive_that_may_not_be_read_is_denied(rig: Rig, s3: S3):
    published(rig)
    s3.faults = lambda request: Fault(status=403, code="AccessDenied") if is_archive(request) else None
    assert rig.run().outcome == "denied"


def test_no_region_is_denied(rig: Rig):
    rig.env["AWS_REGION"] = ""
    assert rig.run().reason == "AWS_REGION is not set"


def test_a_full_disk_fails_and_leaves_an_empty_folder(rig: Rig):
    published(rig)
    rig.node.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=256k", "none", rig.node], check=False)
    if mounted.returncode:
        pytest.skip("only root mounts a small disk")
    try:
        run = rig.run()
        assert (run.outcome, rig.tree()) == ("failed", {})
        assert "No space left on device" in run.reason
    finally:
        subprocess.run(["umount", rig.node], check=True)


def test_a_disk_that_takes_no_more_bytes_fails_and_leaves_an_empty_folder(rig: Rig):
    published(rig)
    run = rig.run(preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, 10_000)))
    assert (run.outcome, rig.tree()) == ("failed", {})
    assert "File too large" in run.reason


class Agent:
    """The Pod Identity agent: refuses for some seconds, then hands out keys to who shows the pod's token."""

    def __init__(self, seconds: float) -> None:
        self.tokens: list[str] = []
        ready, agent = time.monotonic() + seconds, self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                agent.tokens.append(self.headers.get("Authorization", ""))
                keys = {"AccessKeyId": "a", "SecretAccessKey": "s", "Token": "t", "Expiration": "2099-01-01T00:00:00Z"}
                body = json.dumps(keys).encode() if time.monotonic() > ready else b"not yet"
                self.send_response(200 if time.monotonic() > ready else 404)
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: object) -> None:
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def env(self, folder: Path) -> dict[str, str]:
        (folder / "token").write_text("pod-token\n")
        return {
            "AWS_CONTAINER_CREDENTIALS_FULL_URI": f"http://127.0.0.1:{self.server.server_address[1]}/v1/credentials",
            "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE": str(folder / "token"),
        }


@contextlib.contextmanager
def agent(seconds: float) -> Iterator[Agent]:
    made = Agent(seconds)
    yield made
    made.server.shutdown()
    made.server.server_close()


@pytest.mark.parametrize("seconds", [float(os.environ.get("NO_CREDENTIALS_SECONDS", "1.5"))])
def test_credentials_that_come_late_are_waited_for(rig: Rig, s3: S3, tmp_path: Path, seconds: float):
    published(rig)
    with agent(seconds) as late:
        rig.env = late.env(tmp_path)
        run = rig.run()
    assert (run.outcome, rig.tree()) == ("hit", ALL)
    assert seconds <= run.wall < seconds + 2
    assert set(late.tokens) == {"pod-token"}
    assert {request.headers["x-amz-security-token"] for request in s3.requests} == {"t"}


def test_credentials_that_never_come_are_reported_within_the_limit(rig: Rig, tmp_path: Path):
    with agent(60) as never:
        rig.env = never.env(tmp_path)
        run = rig.run("--limit", "2")
    assert run.outcome == "no-credentials"
    assert run.reason.endswith("404 not yet")
    assert run.wall < 3


def test_a_pod_admitted_without_an_association_does_not_wait(rig: Rig):
    rig.env = {}
    run = rig.run()
    assert run.outcome == "no-credentials"
    assert run.wall < 2.5


def test_the_pods_token_is_sent_to_nobody_else(rig: Rig):
    rig.env = {"AWS_CONTAINER_CREDENTIALS_FULL_URI": "http://10.0.0.1/v1/credentials"}
    run = rig.run()
    assert (run.outcome, run.reason) == (
        "no-credentials",
        "http://10.0.0.1/v1/credentials: not the address of a credentials agent",
    )


def test_keys_that_expired_meanwhile_are_replaced(rig: Rig, s3: S3, tmp_path: Path):
    published(rig)
    s3.faults = first(1, is_archive, Fault(status=400, code="ExpiredToken"))
    with agent(0) as quick:
        rig.env = quick.env(tmp_path)
        assert rig.run().outcome == "hit"
    assert len(quick.tokens) == 2
