"""Fixtures over the checked-in stack files."""

import os

import pytest

from tests.harness import STACKS, Recording, stack_recording


@pytest.fixture(params=STACKS)
def stack(request: pytest.FixtureRequest) -> str:
    """Each checked-in stack."""
    return request.param


@pytest.fixture
def recording(stack: str) -> Recording:
    """What each checked-in stack registers."""
    return stack_recording(stack)


@pytest.fixture
def dev() -> Recording:
    """What the dev stack registers."""
    return stack_recording("dev")


def pytest_sessionfinish(session: pytest.Session) -> None:
    """In CI a skipped test is a failed one: nothing is left unchecked in silence."""
    reporter = session.config.pluginmanager.getplugin("terminalreporter")
    skipped = reporter.stats.get("skipped", []) if reporter else []
    if skipped and os.environ.get("CI"):
        reporter.write_line(f"{len(skipped)} skipped: CI runs every test")
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
