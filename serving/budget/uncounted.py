"""Flags of a stack file that move a budget whose sum does not know them."""

from collections.abc import Iterator, Mapping
from contextlib import suppress

from serving.arguments import amount
from serving.budget import Problem
from serving.pod import Situation

KV_BYTES = "kv-cache-memory-bytes"
"""Bytes of KV cache on each GPU, in place of what gpuMemoryUtilization leaves for it."""

_LEFT_OUT: Mapping[str, str] = {
    KV_BYTES: "GPU memory is summed up with a KV cache by gpuMemoryUtilization, which it replaces",
    "kv-offloading-size": "host memory is summed up without these GiB of KV cache",
    "cpu-offload-gb": "host memory is summed up without these GiB of weights of each GPU, and GPU memory with them",
}


def warnings(situation: Situation) -> Iterator[Problem]:
    """Yield each flag that takes memory which no sum holds. One that is 0 takes none."""
    args = situation.engine.args
    for flag, left_out in _LEFT_OUT.items():
        if _set(args.get(flag)):
            yield ("engine", "args", flag), f"{args[flag]}; not counted: {left_out}"


def _set(value: object) -> bool:
    # what is no number is refused before any warning
    with suppress(ValueError):
        return amount(value) != 0
    return False
