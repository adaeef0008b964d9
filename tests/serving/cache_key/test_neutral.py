"""Which facts may leave a cache as it is: vLLM's own hash (serving/cache_key/oracle), and what it misses."""

import json
from typing import Any

import pytest

from serving.arguments import ENGINES
from serving.cache_key import KeyedServer
from serving.cache_key.neutral import NEUTRAL, neutral
from tests.harness import ROOT
from tests.serving.cache_key.servers import print_of, server, with_env, with_flags

ORACLE = ROOT / "serving/cache_key/oracle"
BOTH = pytest.mark.parametrize("engine", ENGINES)

SPECULATION = {"method": "ngram", "prompt_lookup_max": 4}
STREAM = {"concurrency": 16, "memory_limit": 10**10}

CHANGES_BY_HASH = {
    "trust-remote-code": True,
    "revision": "abc",
    "max-model-len": 4096,
    "dtype": "float16",
    "quantization": "fp8",
    "max-logprobs": 5,
    "generation-config": "vllm",
    "override-generation-config": {"temperature": 0.1},
    "enable-sleep-mode": True,
    "enable-cumem-allocator": True,
    "kv-cache-dtype": "fp8",
    "block-size": 32,
    "kv-offloading-size": 4,
    "cpu-offload-gb": 1,
    "max-num-batched-tokens": 4096,
    "max-num-seqs": 64,
    "tensor-parallel-size": 2,
    "pipeline-parallel-size": 2,
    "attention-backend": "TRITON_ATTN",
    "compilation-config": {"mode": 0},
    "enforce-eager": True,
    "optimization-level": 1,
    "max-cudagraph-capture-size": 64,
    "max-lora-rank": 64,
    "speculative-config": {**SPECULATION, "num_speculative_tokens": 3},
}
CHANGES_ALL_THE_SAME = {
    "language-model-only": True,
    "tokenizer": "another",
    "seed": 7,
    "enable-prefix-caching": False,
    "load-format": "dummy",
    "limit-mm-per-prompt": {"image": 0},
    "mm-processor-kwargs": {"num_crops": 4},
    "gpu-memory-utilization": 0.8,
    "kv-cache-memory-bytes": "3G",
    "kernel-config": {"enable_flashinfer_autotune": False},
}
"""Flags that vLLM 0.26 does not hash (with this model): not hashed is not enough to be neutral."""

HASHED_ENV = (
    "VLLM_ENGINE_READY_TIMEOUT_S",
    "HOME",
    "XDG_CACHE_HOME",
    "VLLM_CONFIG_ROOT",
    "VLLM_API_KEY",
    "VLLM_IMAGE_TAG",
    "VLLM_BUILD_COMMIT",
    "VLLM_PLUGINS",
    "VLLM_DISABLE_LOG_LOGO",
    "VLLM_USAGE_SOURCE",
    "VLLM_USE_RUST_FRONTEND",
    "VLLM_USE_FLASHINFER_SAMPLER",
    "VLLM_LOG_MODEL_INSPECTION",
    "VLLM_LOGGING_LEVEL",
    "VLLM_GC_DEBUG",
    "VLLM_PROCESS_NAME_PREFIX",
    "VLLM_ALLOW_LONG_MAX_MODEL_LEN",
    "VLLM_DISABLE_COMPILE_CACHE",
    "CUDA_HOME",
)
NOT_HASHED_ENV = (
    "VLLM_CACHE_ROOT",
    "VLLM_ASSETS_CACHE",
    "VLLM_FORCE_AOT_LOAD",
    "VLLM_ENABLE_STARTUP_PLAN",
    "VLLM_SERVER_DEV_MODE",
    "VLLM_LOGGING_PREFIX",
    "VLLM_LOGGING_CONFIG_PATH",
    "VLLM_NO_USAGE_STATS",
    "VLLM_DO_NOT_TRACK",
    "VLLM_WORKER_MULTIPROC_METHOD",
    "VLLM_FLASHINFER_AUTOTUNE_SKIP_OPS",
    "HF_HUB_OFFLINE",
    "AWS_EC2_METADATA_DISABLED",
    "LD_LIBRARY_PATH",
)
"""Variables of vllm.md A8 and 1.3 by vLLM 0.26's hash."""


def answers(engine: str) -> dict[str, str]:
    data = json.loads((ORACLE / f"{engine}.json").read_text())
    assert data["engine"] == engine
    facts: dict[str, str] = data["facts"]
    return facts


def moved(changed: KeyedServer, engine: str = "0.26.0") -> bool:
    return print_of(changed) != print_of(server(engine={"version": engine}))


@BOTH
def test_no_fact_that_changes_the_real_hash_is_neutral(engine: str) -> None:
    found = answers(engine)
    assert {name: found.get(name, "not asked") for name in neutral(engine)} == dict.fromkeys(neutral(engine), "same")


def test_every_engine_has_a_list_and_every_neutral_fact_a_reason() -> None:
    assert tuple(NEUTRAL) == ENGINES
    assert all(reason for facts in NEUTRAL.values() for reason in facts.values())


def test_of_an_engine_that_nobody_looked_at_nothing_is_neutral() -> None:
    assert neutral("0.34.0") == {}


def test_the_oracle_says_what_a_gpu_said() -> None:
    """Boots on an H200, one change each (gpu.md 5): "model directory" is `model.argument`, "s3:// path" `model.uri`."""
    hits = (
        "flag.served-model-name",
        "flag.gpu-memory-utilization",
        "flag.kv-cache-memory-bytes",
        "flag.language-model-only",
        "flag.load-format",
        "flag.shutdown-timeout",
        "flag.disable-access-log-for-endpoints",
        "flag.port",
        "env.VLLM_SERVER_DEV_MODE",
        "env.VLLM_ENABLE_STARTUP_PLAN",
        "env.VLLM_FORCE_AOT_LOAD",
        "env.VLLM_CACHE_ROOT",
    )
    misses = (
        "flag.enable-sleep-mode",
        "flag.max-model-len",
        "flag.max-num-seqs",
        "flag.max-num-batched-tokens",
        "flag.optimization-level",
        "flag.max-cudagraph-capture-size",
        "env.VLLM_ENGINE_READY_TIMEOUT_S",
        "env.VLLM_API_KEY",
        "env.HOME",
        "env.VLLM_LOGGING_LEVEL",
        "model.argument",
        "model.uri",
    )
    found = answers("0.26.0")
    assert {name: found[name] for name in hits} == dict.fromkeys(hits, "same")
    assert {name: found[name] for name in misses} == dict.fromkeys(misses, "changes")


@pytest.mark.parametrize(("flag", "value"), CHANGES_BY_HASH.items(), ids=list(CHANGES_BY_HASH))
def test_a_flag_that_vllm_hashes_moves_the_fingerprint(flag: str, value: Any) -> None:
    assert answers("0.26.0")[f"flag.{flag}"] == "changes"
    assert moved(with_flags(server(), {flag: value}))


@pytest.mark.parametrize(("flag", "value"), CHANGES_ALL_THE_SAME.items(), ids=list(CHANGES_ALL_THE_SAME))
def test_a_flag_that_vllm_does_not_hash_moves_the_fingerprint_unless_it_is_listed(flag: str, value: Any) -> None:
    found = answers("0.26.0")
    assert found.get(f"flag.{flag}", found.get(f"flag.no-{flag}")) == "same"
    assert moved(with_flags(server(), {flag: value}))


@pytest.mark.parametrize("name", HASHED_ENV)
def test_a_variable_that_vllm_hashes_moves_the_fingerprint(name: str) -> None:
    assert answers("0.26.0")[f"env.{name}"] == "changes"
    assert moved(with_env(server(), **{name: "another"}))


@pytest.mark.parametrize("name", NOT_HASHED_ENV)
def test_a_variable_that_vllm_does_not_hash_moves_the_fingerprint_unless_it_is_listed(name: str) -> None:
    assert answers("0.26.0")[f"env.{name}"] == "same"
    assert moved(with_env(server(), **{name: "another"}))


@BOTH
def test_multimodal_limits_are_never_neutral(engine: str) -> None:
    """Not hashed, and image:0 and image:1 crash on each other's cache (vllm#50891)."""
    limits = [server(engine={"version": engine}, args={"limit-mm-per-prompt": {"image": n}}) for n in (0, 1)]
    assert print_of(limits[0]) != print_of(limits[1])
    assert all(moved(one, engine) for one in limits)


@BOTH
def test_gpu_memory_utilization_is_never_neutral(engine: str) -> None:
    """Not hashed, and a start-up plan of another share keeps its KV size (vllm.md A16)."""
    assert moved(server(engine={"version": engine, "gpuMemoryUtilization": 0.85}), engine)


@BOTH
def test_the_number_of_speculative_tokens_is_never_neutral(engine: str) -> None:
    """0.26 does not hash it (vllm#53366); 0.33 does."""
    assert answers(engine)["flag.speculative-config.num_speculative_tokens"] == (
        "same" if engine == "0.26.0" else "changes"
    )
    three, five = (
        server(engine={"version": engine}, args={"speculative-config": {**SPECULATION, "num_speculative_tokens": n}})
        for n in (3, 5)
    )
    assert print_of(three) != print_of(five)


@BOTH
def test_kv_cache_memory_is_never_neutral(engine: str) -> None:
    assert moved(server(engine={"version": engine}, args={"kv-cache-memory-bytes": "3G"}), engine)


@BOTH
def test_how_weights_are_streamed_is_neutral_only_in_speed_and_memory(engine: str) -> None:
    """`distributed` reads straight to the GPUs, and corrupted weights on one model (vllm#41749)."""
    streamed = with_flags(server(engine={"version": engine}), {"model-loader-extra-config": STREAM})
    for key, value, moves in (("concurrency", 64, False), ("memory_limit", -1, False), ("distributed", True, True)):
        changed = with_flags(streamed, {"model-loader-extra-config": {**STREAM, key: value}})
        assert (print_of(changed) != print_of(streamed)) is moves, key
