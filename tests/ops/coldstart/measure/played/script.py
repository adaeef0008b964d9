"""A start that was recorded, shortened to some seconds: what kubelet does, and what the containers say."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

VERSION = "0.33.0"
"""Of the dev stack's server."""

RESTORED = 'cache-restore: outcome={outcome} restored=fingerprint bytes=228589568 files=1204 seconds=0.812 reason=""'

_API, _CORE = "(APIServer pid=7)", "(EngineCore pid=9)"


def _said(by: str, source: str, message: str) -> str:
    return f"{by} INFO 11-30 10:00:00 [{source}] {message}"


ENGINE: Sequence[tuple[float, str]] = (
    (0.9, _said(_API, "api_utils.py:345", "")),
    (0.9, _said(_API, "api_utils.py:345", " ▄▄ ▄█ █     █     █ ▀▄▀ █  version 0.33.0")),
    (1.1, _said(_API, "model.py:623", "Resolved architecture: Gemma4ForCausalLM")),
    (1.3, _said(_CORE, "core.py:116", "Initializing a V1 LLM engine (v0.33.0) with config: x")),
    (1.9, _said(_CORE, "model_runner.py:284", "Loading model from scratch...")),
    (2.7, _said(_CORE, "model_runner.py:305", "Model loading took 31.22 GiB and 0.800000 seconds")),
    (
        3.0,
        _said(
            _CORE,
            "backends.py:292",
            "Directly load the compiled graph(s) for compile range (1, 8192) from the cache, took 0.1 s",
        ),
    ),
    (3.0, _said(_CORE, "decorators.py:311", "Directly load AOT compilation from path /vllm-cache/x")),
    (3.3, _said(_CORE, "monitor.py:53", "torch.compile took 0.50 s in total")),
    (3.4, _said(_CORE, "kv_cache_utils.py:2177", "GPU KV cache size: 797,680 tokens")),
    (4.6, _said(_CORE, "model_runner.py:747", "Graph capturing finished in 1 secs, took 0.60 GiB")),
    (4.7, _said(_CORE, "jit_monitor.py:79", "Kernel JIT monitor activated; monitored JIT")),
    (
        4.8,
        _said(
            _CORE,
            "core.py:340",
            "init engine (profile, create kv cache, warmup model) took 2.1 s (compilation: 0.50 s)",
        ),
    ),
    (5.1, _said(_API, "api_server.py:677", "Starting vLLM server on http://127.0.0.1:8001")),
    (5.2, f"{_API} INFO:     Application startup complete."),
)
"""Seconds since the engine's container has started, and what it prints."""

SERVES = ENGINE[-1][0]
"""When it listens."""

OF_ENGINE = {
    "imports": 0.9,
    "model inspection": 0.2,
    "engine imports": 0.8,
    "weights": 0.8,
    "compile": 0.5,
    "kernels": 0.2,
    "graphs": 1.0,
    "API start": 0.3,
}
"""Its phases, in seconds."""


@dataclass(frozen=True, kw_only=True)
class Script:
    """What kubelet does with a pod, in seconds since it has prepared it."""

    pull: float = 0.0
    """0: the image is there."""
    restore: float = 1.0
    ready: float = 6.0
    """Since the engine's container has started."""
    outcome: str = "hit"
    dies: float | None = None
    """Seconds after the engine's start when its first container dies; the second one does as the script says."""
    evicted: float | None = None
    """Seconds after the engine's start when the pod is evicted."""


FRESH = Script(pull=2.0)
RESTART = Script(outcome="present")


def spoken(began: float) -> str:
    """The engine's log behind the container runtime's times."""
    return "".join(f"{_stamp(began + at)} {text}\n" for at, text in ENGINE)


def _stamp(seconds: float) -> str:
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%dT%H:%M:%S.%f}000Z"
