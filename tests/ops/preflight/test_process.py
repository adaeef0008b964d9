"""The command as a process before an AWS that throttles, or never answers."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from ops.preflight.asking import Aws, NoAnswer
from ops.preflight.capacity import quotas
from tests.harness import ROOT
from tests.ops.conftest import ACCOUNT

WHO = (
    '<GetCallerIdentityResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><GetCallerIdentityResult>'
    f"<Arn>arn:aws:iam::{ACCOUNT}:user/me</Arn><UserId>x</UserId><Account>{ACCOUNT}</Account>"
    "</GetCallerIdentityResult></GetCallerIdentityResponse>"
)


class Slow(ThreadingHTTPServer):
    """An AWS that says who asks, throttles Service Quotas, and is silent otherwise."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.throttled = 0
        self.silent = threading.Event()
        self.end = threading.Event()


class Handler(BaseHTTPRequestHandler):
    server: Slow

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if b"GetCallerIdentity" in body:
            self._say(200, WHO)
        elif "ServiceQuotas" in self.headers.get("X-Amz-Target", ""):
            self.server.throttled += 1
            self._say(400, '{"__type": "ThrottlingException", "message": "Rate exceeded"}')
        else:
            self.server.silent.set()
            self.server.end.wait(300)

    def do_GET(self) -> None:
        self.do_POST()

    def _say(self, status: int, body: str) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body.encode())

    def log_message(self, *_: Any) -> None:
        """Say nothing."""


@pytest.fixture
def slow(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Slow]:
    server = Slow()
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
    monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{server.server_port}")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "key")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    yield server
    server.end.set()
    server.shutdown()
    server.server_close()


def test_what_is_still_throttled_after_botocores_own_attempts_is_unknown(slow, monkeypatch):
    monkeypatch.setattr("botocore.endpoint.time.sleep", lambda _: None)
    told = quotas.value(Aws("us-west-2").client("service-quotas"), "L-3819A6DF")
    assert isinstance(told, NoAnswer)
    assert told.why.startswith("servicequotas:GetServiceQuota: AWS answers ThrottlingException: Rate exceeded")
    assert (told.fix, slow.throttled) == ("run again later", 5)


def test_ctrl_c_ends_at_once_although_aws_is_silent(slow, folder):
    """Its requests would be waited for, a minute each and five times."""
    command = [sys.executable, "-m", "ops", "preflight", "--only", "offerings", "--only", "ami"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    with subprocess.Popen(
        command, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as running:
        assert slow.silent.wait(60), running.poll()
        began = time.monotonic()
        running.send_signal(signal.SIGINT)
        out, err = running.communicate(timeout=200)
    assert (running.returncode, out) == (130, "")
    assert "Traceback" not in err
    # of a machine with much else to do: the first request alone would take 60 s
    assert time.monotonic() - began < 30
