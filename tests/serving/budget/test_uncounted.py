"""Flags that take memory which no sum holds: each is said."""

from typing import Any

import pytest

from serving.budget import gpu_memory
from serving.budget.uncounted import warnings
from serving.engine import argument_problems
from serving.server.fit import warnings as all_warnings
from tests.serving.situations import situation

SAID = {
    "kv-cache-memory-bytes": "GPU memory is summed up with a KV cache by gpuMemoryUtilization, which it replaces",
    "kv-offloading-size": "host memory is summed up without these GiB of KV cache",
    "cpu-offload-gb": "host memory is summed up without these GiB of weights of each GPU, and GPU memory with them",
}


@pytest.mark.parametrize("flag", SAID)
@pytest.mark.parametrize("version", ["0.26.0", "0.33.0"])
def test_a_flag_that_moves_a_budget_is_named_with_the_sum_that_leaves_it_out(flag: str, version: str) -> None:
    about = situation(engine={"version": version, "args": {flag: 16}})
    assert not list(argument_problems(about.engine, {}))
    said = (("engine", "args", flag), f"16; not counted: {SAID[flag]}")
    assert list(warnings(about)) == [said]
    assert said in list(all_warnings(about, (), {}))


@pytest.mark.parametrize("args", [{}, dict.fromkeys(SAID, 0), {"kv-cache-memory-bytes": "0K", "cpu-offload-gb": "0.0"}])
def test_a_flag_that_takes_nothing_is_not_named(args: dict[str, Any]) -> None:
    assert not list(warnings(situation(engine={"args": args})))


@pytest.mark.parametrize("asked", ["97G", 97 * 1024**3])
def test_a_kv_cache_that_is_larger_than_the_gpu_by_itself_is_refused(asked: str | int) -> None:
    about = situation(engine={"args": {"kv-cache-memory-bytes": asked}})
    assert list(gpu_memory.refusals(about)) == [
        (("engine", "args", "kv-cache-memory-bytes"), f"97.0 GiB of KV cache > 96.0 GiB of each GPU on {kind}")
        for kind in ("g7e.2xlarge", "g7e.4xlarge")
    ]
    assert not list(gpu_memory.refusals(situation(engine={"args": {"kv-cache-memory-bytes": "97g"}})))


def test_a_value_that_is_no_number_is_left_to_the_check_of_arguments() -> None:
    about = situation(engine={"args": {"kv-cache-memory-bytes": "much"}})
    assert not list(warnings(about))
    assert not list(gpu_memory.refusals(about))
