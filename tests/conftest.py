"""Fixtures over the checked-in stack files."""

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
