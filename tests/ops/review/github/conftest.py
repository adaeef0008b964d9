"""`ops review` before a GitHub of its own, where waiting takes no time."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest

from tests.ops.review.github.server import TOKEN, Site, serving


@pytest.fixture
def waits(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The seconds that were waited, one after the other."""
    waited: list[float] = []
    monkeypatch.setattr(time, "sleep", waited.append)
    return waited


@pytest.fixture
def site(monkeypatch: pytest.MonkeyPatch, waits: list[float]) -> Iterator[Site]:
    with serving() as running:
        monkeypatch.setenv("GITHUB_API_URL", running.url)
        monkeypatch.setenv("GITHUB_TOKEN", TOKEN)
        yield running
