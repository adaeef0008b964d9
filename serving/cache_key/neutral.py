"""The facts of a server that do not move the fingerprint, each with why. Everything else moves it.

That vLLM does not hash a fact is needed (`oracle/<version>.json`, held against this list by a test) and not enough:
gpu-memory-utilization, kv-cache-memory-bytes, limit-mm-per-prompt and the number of speculative tokens are not hashed
by 0.26 and may never be here (vllm.md A7, A16). A fact belongs here when, besides, nothing that reads it takes part in
compiling, and servers that should share a cache differ in it. "Hit" is a boot on an H200 with vLLM 0.26 that
changed just this and found both layers of the cache (gpu.md 2 and 5); 0.33 was not run on a GPU.
"""

from collections.abc import Mapping

_API_SERVER = "read by the API server alone"
_WEIGHTS = "how weights are read, which is over before anything is compiled"

_BOTH = {
    "flag.served-model-name": f"{_API_SERVER} (and metric labels); hit",
    "flag.host": _API_SERVER,
    "flag.port": f"{_API_SERVER}; hit",
    "flag.shutdown-timeout": "how the engine ends; hit",
    "flag.disable-access-log-for-endpoints": f"{_API_SERVER}; hit",
    # they follow from host memory, the network and the checkpoint's size; `distributed` is not here: it moves tensors
    "flag.model-loader-extra-config.concurrency": _WEIGHTS,
    "flag.model-loader-extra-config.memory_limit": f"{_WEIGHTS}; hit",
    "env.RUNAI_STREAMER_S3_TARGET_GBPS": _WEIGHTS,
    "env.AWS_REGION": _WEIGHTS,
    "env.AWS_DEFAULT_REGION": _WEIGHTS,
}

NEUTRAL: Mapping[str, Mapping[str, str]] = {"0.26.0": _BOTH, "0.33.0": _BOTH}
"""By engine version and name of the fact; `flag.x.y` is the key y of the JSON object that x takes."""


def neutral(engine: str) -> Mapping[str, str]:
    """Return the neutral facts of an engine version: none when nobody has looked at it."""
    return NEUTRAL.get(engine, {})
