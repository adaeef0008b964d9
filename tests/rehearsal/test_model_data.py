"""Servers with caches, candidates and another user, before a real API server and on the real engine."""

from pathlib import Path
from typing import Any

import pytest

from rehearsal.admit import admit
from tests.harness import SECRETS, stack_settings
from tests.rehearsal.test_stacks import variant

CACHES = ["node-cache", "cache-restore", "bytecode-cache"]
TOKEN = ("vllm-eks:huggingFaceToken", "hf_1234567890")
CANDIDATE = {"version": "0.26.0", "image": "registry.example/vllm:v2", "args": {"enforce-eager": True}}


@pytest.mark.parametrize(
    "server",
    [
        {"techniques": []},
        {"techniques": ["node-cache"], "engine": {"user": 2000}},
        {"techniques": CACHES, "engine": {"user": 2000}, "candidate": CANDIDATE},
        {"techniques": ["streaming-loader", *CACHES], "candidate": CANDIDATE},
    ],
    ids=["baseline", "another-user", "another-user-with-restore", "candidate"],
)
def test_every_object_of_a_server_is_admitted_whatever_its_caches(tmp_path: Path, server: dict[str, Any]) -> None:
    raw = stack_settings("dev")
    its = raw["servers"]["gemma"]
    del its["preset"]
    raw["servers"]["gemma"] = {**its, **server, "engine": {**its["engine"], **server.get("engine", {})}}
    raw["gpuPools"]["rtx-pro-6000"]["maxGpus"] = 4
    admission = admit("dev", project=variant(tmp_path, raw), secrets=[*SECRETS, TOKEN])
    assert admission.report.refusals == ()
    assert [warning for it in admission.report.admitted for warning in it.warnings] == []
    builds = 0 if "cache-restore" not in server["techniques"] else 1 + ("candidate" in server)
    assert [it.kind for it in admission.report.admitted].count("Pod of CronJob") == 1 + builds
    assert [it.kind for it in admission.report.admitted].count("Secret") == 1
