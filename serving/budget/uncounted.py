"""Flags of a stack file that move a budget whose sum does not know them."""

from collections.abc import Iterator, Mapping
from contextlib import suppress

from serving.arguments import amount
from serving.budget import Problem
from serving.engine import EngineSettings
from serving.pod import Situation

KV_BYTES = "kv-cache-memory-bytes"
"""Bytes of KV cache on each GPU, in place of what gpuMemoryUtilization leaves for it."""

_LEFT_OUT: Mapping[str, str] = {
    KV_BYTES: "GPU memory is summed up with a KV cache by gpuMemoryUtilization, which it replaces",
    "kv-offloading-size": "host memory is summed up without these GiB of KV cache",
    "cpu-offload-gb": "host memory is summed up without these GiB of weights of each GPU, and GPU memory with them",
}


def amount_of(engine: EngineSettings, flag: str) -> float:
    """Return what a stack file gives to a flag; 0: nothing, or no number, which the check of arguments refuses."""
    with suppress(ValueError):
        return amount(engine.args.get(flag, 0))
    return 0.0


def warnings(situation: Situation) -> Iterator[Problem]:
    """Yield each flag that takes memory which no sum holds. One that is 0 takes none."""
    engine = situation.engine
    for flag, left_out in _LEFT_OUT.items():
        if amount_of(engine, flag):
            yield ("engine", "args", flag), f"{engine.args[flag]}; not counted: {left_out}"
