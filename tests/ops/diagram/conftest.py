"""Plans of real previews, as `python -m rehearsal preview` makes them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache
from typing import Any

import pytest

from ops.diagram.stack import SERVER
from rehearsal.plan.plan import Plan
from rehearsal.preview import preview
from tests.harness import ROOT, SECRETS, stack_settings
from tests.ops.chromium import Browser, browser
from tests.rehearsal.test_stacks import variant

STACKS = ("dev", "staging", "prod", "many", "no server")
"""Names of plans: of stack files as they are checked in; of one with many servers; and of one with none."""

LONG = "a-pool-with-a-name-as-long-as"


def many() -> dict[str, Any]:
    """The dev stack's settings with servers that differ in their techniques: a preview of each would take minutes."""
    raw = stack_settings("dev")
    (gemma,), (pool,) = raw["servers"].values(), raw["gpuPools"].values()
    gemma["engine"]["gpuMemoryUtilization"] = 0.85
    gemma["resources"]["memoryGib"] = 50
    plain = {**gemma, "pool": "plain", "techniques": []}
    raw["gpuPools"] = {"plain": pool | {"maxGpus": 8}, LONG: pool | {"maxGpus": 8}}
    raw["servers"] = {
        **{step: plain | {"preset": step} for step in ("step-0", "step-2", "step-5")},
        "local-weights": plain | {"preset": "step-0", "techniques": ["node-cache", "local-weights"]},
        "a-server-with-a-long-name": gemma | {"pool": LONG},
    }
    return raw


@pytest.fixture(scope="session")
def plan(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Plan]:
    """`plan(name)`: one of STACKS."""

    @cache
    def previewed(name: str) -> Plan:
        if name == "many":
            return preview("dev", project=variant(tmp_path_factory.mktemp("project"), many()))
        if name == "no server":
            dev = previewed("dev")
            return replace(dev, resources=tuple(it for it in dev.resources if it.type != SERVER))
        return preview(name, project=ROOT, secrets=SECRETS)

    return previewed


@pytest.fixture(scope="session")
def chromium(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    """One browser for all pictures."""
    with browser(tmp_path_factory.mktemp("chromium")) as page:
        yield page
