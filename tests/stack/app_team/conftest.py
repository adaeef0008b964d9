"""The example of an application team, under mocks: a stack reference that answers with what this program exports."""

from collections.abc import Callable
from functools import cache
from typing import Any

import pulumi
import pytest

from tests.harness import Recording, record_main, stack_recording
from tests.stack.app_team import APP, CONFIG

TOKEN = "a-token-of-the-tests-000000"  # noqa: S105 - of the tests


def record_example(exported: dict[str, Any], *, token: str | None = None, secret: bool = True) -> Recording:
    config = {key: value for key, value in CONFIG.items() if isinstance(value, str)}
    given = {"app-team:token": token} if token else {}
    pulumi.runtime.set_all_config({**config, **given}, list(given) if secret else [])
    stacks = {CONFIG["app-team:platform"]: exported}
    return record_main(APP / "__main__.py", project="app-team", stacks=stacks)


@cache
def on_dev() -> Recording:
    return record_example(stack_recording("dev").outputs, token=f"{TOKEN}\n")


@pytest.fixture
def example() -> Callable[..., Recording]:
    """`example(exported, token=...)`: what it registers on a platform that exports this."""
    return record_example


@pytest.fixture
def recorded() -> Recording:
    """On the dev stack, with a token; run once, shared by all tests that only look."""
    return on_dev()
