"""What a model caches of each token: bytes on one GPU, by the model's shape and the engine's settings."""

from collections.abc import Iterator

from serving.budget import Problem
from serving.engine import EngineSettings
from serving.model import KvSettings, ModelSettings

_WIDTHS = (("fp8", 1.0), ("int8", 1.0), ("int4", 0.5), ("nvfp4", 0.5), ("turboquant", 0.5))
"""Bytes of a value by how `kv-cache-dtype` begins. All others, and `auto`, have 16 bits; with `auto` a checkpoint that
says how its cache is quantised takes less."""


def width(engine: EngineSettings) -> float:
    """Return the bytes of one value, without the scales of a quantised one."""
    asked = str(engine.args.get("kv-cache-dtype", "auto"))
    return next((size for start, size in _WIDTHS if asked.startswith(start)), 2.0)


def bytes_per_token(kv_heads: int, head_dim: int, engine: EngineSettings) -> float:
    """Return the bytes that one layer keeps of a token on one GPU: keys and values of the heads that are there.

    A head is never split: with more GPUs than heads, several hold the same one.
    """
    heads = -(-kv_heads // engine.tensor_parallel)
    return 2 * heads * head_dim * width(engine)


def request_bytes(kv: KvSettings, engine: EngineSettings) -> float:
    """Return what one request of `maxModelLen` tokens needs on one GPU, as vLLM reckons it before it starts.

    A layer with a sliding window keeps the window and one batch (SlidingWindowSpec of vllm/v1/kv_cache_interface.py:
    `min(sliding_window - 1 + max_num_batched_tokens, max_model_len)`). vLLM rounds up to whole blocks, which is not
    done here.
    """
    whole = bytes_per_token(kv.global_kv_heads or kv.kv_heads, kv.global_head_dim or kv.head_dim, engine)
    sliding = bytes_per_token(kv.kv_heads, kv.head_dim, engine)
    kept = min(kv.sliding_window - 1 + engine.max_num_batched_tokens, engine.max_model_len)
    return (kv.layers - kv.sliding_layers) * engine.max_model_len * whole + kv.sliding_layers * kept * sliding


def context_refusals(model: ModelSettings, engine: EngineSettings) -> Iterator[Problem]:
    """Yield that a server promises a longer context than its model has."""
    if model.max_context is not None and engine.max_model_len > model.max_context:
        yield (
            ("engine", "maxModelLen"),
            f"{engine.max_model_len} > model.maxContext {model.max_context}: a context longer than the model's",
        )


def parallel_refusals(model: ModelSettings, engine: EngineSettings) -> Iterator[Problem]:
    """Yield that the model's key and value heads do not spread over the GPUs of a server.

    vLLM gives each GPU as many heads as the others, or each head as many GPUs (`divide()` in the attention layers).
    """
    if (kv := model.kv) is None:
        return
    gpus = engine.tensor_parallel
    for key, heads in (("kvHeads", kv.kv_heads), ("globalKvHeads", kv.global_kv_heads)):
        if heads is not None and heads % gpus and gpus % heads:
            yield (
                ("engine", "tensorParallel"),
                f"{gpus} GPUs and model.kv.{key} {heads}: neither divides the other, and vLLM splits no head",
            )
