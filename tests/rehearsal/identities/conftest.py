"""Stacks after an `up` in the offline cloud, each brought up once for all tests and all their workers."""

import fcntl
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rehearsal.standing import standing
from tests.harness import ROOT, SECRETS, STACKS, stack_settings
from tests.rehearsal.test_stacks import variant

Resources = list[dict[str, Any]]

CHINA, RICH = "china", "rich"
EVERY = (*STACKS, RICH, CHINA)
"""The stack files, one with everything that writes or widens a document, and one of another partition."""

ANOTHER_ACCOUNT = "arn:aws:iam::111122223333:role/team/reader"
KEY = "arn:aws:kms:us-west-2:000000000000:key/1234abcd-12ab-34cd-56ef-1234567890ab"
LONG = "s" * 30
CANDIDATE = {"version": "0.33.0", "image": "registry.example/vllm:v2", "args": {}}


def rich() -> dict[str, Any]:
    """The longest names, and all that gives a document more to say.

    Two servers of two models, a candidate, a customer key, readers, writers, a sleeper that is woken from outside.
    """
    raw = stack_settings("prod")
    raw["name"] = "c" * 100
    raw["modelBucket"] |= {
        "encryption": KEY,
        "readers": [ANOTHER_ACCOUNT],
        "writers": ["arn:aws:iam::000000000000:role/quantizer"],
    }
    first = raw["servers"]["gemma"] | {"candidate": {**CANDIDATE, "version": "0.26.0"}}
    second = stack_settings("prod")["servers"]["gemma"] | {"sleep": {"wake": "external"}}
    second["model"] = second["model"] | {"uri": first["model"]["uri"].replace("gemma-4-31b-it-nvfp4", "another")}
    second["techniques"] = ["front-proxy", "sleep-mode"]
    raw["servers"] = {"gemma": first, LONG: second}
    raw["gpuPools"]["rtx-pro-6000"]["maxGpus"] = 8
    return raw


def china() -> dict[str, Any]:
    text = json.dumps(stack_settings("prod"))
    raw = json.loads(text.replace("arn:aws:", "arn:aws-cn:").replace("us-west-2", "cn-north-1"))
    raw["imageCache"]["upstreams"] = []  # ECR caches none there
    return raw


@pytest.fixture(scope="session")
def resources(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Resources]:
    """`resources("dev")`: the state of a stack of `EVERY`."""
    shared = tmp_path_factory.getbasetemp()
    shared = shared.parent if "PYTEST_XDIST_WORKER" in os.environ else shared
    known: dict[str, Resources] = {}

    def of(stack: str) -> Resources:
        if stack not in known:
            with (shared / f"{stack}.lock").open("w") as lock:
                fcntl.flock(lock, fcntl.LOCK_EX)
                file = shared / f"{stack}.state.json"
                if not file.exists():
                    file.write_text(json.dumps(_brought_up(stack, tmp_path_factory.mktemp(stack))))
                known[stack] = json.loads(file.read_text())
        return known[stack]

    return of


def _brought_up(stack: str, folder: Path) -> Resources:
    if stack in STACKS:
        return standing(stack, project=ROOT, secrets=SECRETS)
    if stack == CHINA:
        return standing("dev", project=variant(folder, china(), "cn-north-1"))
    return standing("dev", project=variant(folder, rich()), secrets=SECRETS)
