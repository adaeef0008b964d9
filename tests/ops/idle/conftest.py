"""`ops idle plan` on the checked-in stack file."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

POOL = "rtx-pro-6000"
BURSTS = "lognormal:median=20m,p90=3h"


@pytest.fixture
def plan(ops: Callable[..., Any], edit: Callable[..., None]) -> Callable[..., Any]:
    """`plan(...)`: of the dev stack's server, whose node costs 3.6 USD an hour."""
    edit(lambda settings: settings["gpuPools"][POOL].update(prices={"g7e.2xlarge": 3.6}))
    return lambda *more: ops("idle", "plan", "--server", "gemma", *more)
