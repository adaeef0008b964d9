"""The program under mocks: every registration is recorded, and asserted in plain Python after the program's end."""

import copy
import json
import os
import runpy
from collections.abc import Awaitable, Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

# an output inside an f-string raises instead of becoming text (PUL-01)
os.environ["PULUMI_ERROR_OUTPUT_STRING"] = "1"

import pulumi
import pytest
import yaml

from tests.mocks import NAME, Cloud, RecordingMonitor
from tests.recording import Recording, Registration

PROJECT = "vllm-eks"
ROOT = Path(__file__).parents[1]
STACKS = ("dev", "staging", "prod")
REGION = "us-west-2"
SECRETS = (("vllm-eks:dockerHubCredentials", '{"username": "u", "accessToken": "t"}'),)
"""What a checked-in stack file needs beside itself."""


def record(
    build: Callable[[], object],
    *,
    preview: bool = False,
    region: str = REGION,
    account: str = "000000000000",
    project: str = PROJECT,
    stacks: Mapping[str, dict[str, Any]] | None = None,
) -> Recording:
    """Run a program under mocks to its end and return what it registered.

    `stacks`: the outputs of stacks that it may refer to, by the name of the reference.

    Raises:
        AssertionError: it registered nothing, so that every loop over the recording would pass (TST-01).
    """
    recording = Recording()
    cloud = Cloud(region, account, stacks or {})
    monitor = RecordingMonitor(cloud, recording, project)
    pulumi.runtime.set_mocks(cloud, project, NAME, preview=preview, monitor=monitor)

    @pulumi.runtime.test
    def program() -> None:
        build()

    program()
    assert recording.registered, "the program registered nothing: there is nothing to look at"
    return recording


def beside(path: Path) -> Path:
    """A file beside the checkout, which no package carries. Without it the test is skipped, which CI refuses."""
    found = ROOT.parent / path
    if not found.exists():
        pytest.skip(f"NOT COMPARED WITH UPSTREAM: ../{path} is not there")
    return found


def stack_settings(stack: str) -> dict[str, Any]:
    """The settings of a checked-in stack file, to be changed at will."""
    return copy.deepcopy(stack_file(stack)["vllm-eks:settings"])


@cache
def stack_file(stack: str) -> dict[str, Any]:
    return yaml.safe_load((ROOT / f"Pulumi.{stack}.yaml").read_text())["config"]


def record_program(
    raw: dict[str, Any],
    *,
    region: str = REGION,
    preview: bool = False,
    secrets: dict[str, str] | None = None,
    account: str | None = None,
) -> Recording:
    """Run the real `__main__.py` under mocks with these settings, in their account unless another one is given."""
    secrets = {**dict(SECRETS), **(secrets or {})}
    config = {"aws:region": region, "vllm-eks:settings": json.dumps(raw), **secrets}
    pulumi.runtime.set_all_config(config, list(secrets))
    account = account or raw["account"]["id"]
    return record_main(ROOT / "__main__.py", preview=preview, region=region, account=account)


def record_main(main: Path, *, preview: bool = False, **given: Any) -> Recording:
    """Run a `__main__.py` under mocks (`given` as for `record`); the recording has its outputs too."""
    exported: dict[str, Any] = {}
    last: list[Callable[[], Awaitable[None]]] = []

    def run() -> None:
        originals = pulumi.export, pulumi.run
        pulumi.export, pulumi.run = lambda name, value: exported.update({name: value}), last.append
        try:
            runpy.run_path(str(main), run_name="__main__")
        finally:
            pulumi.export, pulumi.run = originals

    recording = record(run, preview=preview, **given)
    resolved: dict[str, Any] = {}

    @pulumi.runtime.test
    def resolve() -> pulumi.Output[list[None]]:
        return pulumi.Output.all(pulumi.Output.from_input(exported).apply(resolved.update), *(end() for end in last))

    if not preview:
        resolve()
    recording.outputs = resolved
    return recording


@cache
def stack_recording(stack: str) -> Recording:
    """The program with a checked-in stack file: run once, shared by all tests that only look."""
    return record_program(stack_settings(stack))


def document(registration: Registration, key: str) -> dict[str, Any]:
    """A policy document of a resource."""
    return json.loads(registration.inputs[key])
