"""Memory of a GPU: what is refused with its sum, and what is only said."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from serving.budget.gpu_memory import gpu_memory, line, refusals, warnings
from serving.budget.kv_cache import bytes_per_token, context_refusals, parallel_refusals, request_bytes, width
from serving.model import GIB, KvSettings
from serving.pod import Situation
from tests.serving.situations import situation

QWEN_8B = {"layers": 36, "kvHeads": 8, "headDim": 128}
GEMMA_31B = {"layers": 60, "kvHeads": 16, "headDim": 256}
SLIDING = {**GEMMA_31B, "slidingLayers": 50, "slidingWindow": 1024}


def on(*types: str, product: str = "rtx-pro-server-6000", **changes: dict[str, Any]) -> Situation:
    return situation(nodes={"product": product, "instanceTypes": list(types), "maxGpus": 8}, **changes)


def test_the_shape_of_an_8b_model_gives_what_vllm_reported_of_it() -> None:
    """gpu.md 6: 109.55 GiB of KV cache held 797,680 tokens."""
    about = on("p5en.48xlarge", product="h200", model={"kv": QWEN_8B})
    assert about.model.kv
    tokens = 109.55 * GIB / request_bytes(about.model.kv, about.engine) * about.engine.max_model_len
    assert tokens == pytest.approx(797_680, rel=0.001)


def test_what_is_left_on_an_h200_is_what_vllm_had_left() -> None:
    """gpu.md 6: 109.55 GiB, at a share of 0.90 of 139.8 GiB; the catalogue's H200 has 141.0 GiB."""
    about = on("p5en.48xlarge", product="h200", model={"sizeGib": 15.26})
    memory = gpu_memory(about, about.pool.types[0])
    assert memory.left == pytest.approx(109.55 + 0.90 * (141.0 - 139.8), abs=0.5)


@pytest.mark.parametrize(
    ("dtype", "expected"),
    [
        ("auto", 2.0),
        ("bfloat16", 2.0),
        ("fp8_e4m3", 1.0),
        ("int8_per_token_head", 1.0),
        ("nvfp4", 0.5),
        ("int4_per_token_head", 0.5),
    ],
)
def test_the_width_of_a_cached_value_is_the_engines_own_flag(dtype: str, expected: float) -> None:
    assert width(situation(engine={"args": {"kv-cache-dtype": dtype}}).engine) == expected
    assert width(situation().engine) == 2.0


def test_tensor_parallel_splits_heads_until_each_gpu_has_one() -> None:
    each = {n: bytes_per_token(8, 128, situation(engine={"tensorParallel": n}).engine) for n in (1, 2, 8, 16)}
    assert each == {1: 4096, 2: 2048, 8: 512, 16: 512}


def test_a_sliding_layer_keeps_its_window_and_one_batch() -> None:
    engine = situation(engine={"maxModelLen": 131072, "maxNumBatchedTokens": 8192}).engine
    one = 2 * 16 * 256 * 2
    assert request_bytes(KvSettings.model_validate(GEMMA_31B), engine) == 60 * 131072 * one
    assert request_bytes(KvSettings.model_validate(SLIDING), engine) == (10 * 131072 + 50 * (1023 + 8192)) * one


def test_layers_without_a_window_may_have_heads_of_their_own() -> None:
    """Gemma 4's do: num_global_key_value_heads and global_head_dim in its config.json."""
    engine = situation(engine={"maxModelLen": 131072}).engine
    wide = KvSettings.model_validate({**SLIDING, "globalKvHeads": 4, "globalHeadDim": 512})
    assert request_bytes(wide, engine) == (10 * 131072 * 4 * 512 + 50 * (1023 + 8192) * 16 * 256) * 2 * 2


def test_weights_that_no_share_of_the_gpu_holds_are_refused() -> None:
    assert list(refusals(on("g6e.2xlarge", product="l40s", model={"sizeGib": 60}))) == [
        (
            ("model", "sizeGib"),
            "60 GiB of weights > 1 x 44.7 GiB x gpuMemoryUtilization 0.9 = 40.2 GiB on g6e.2xlarge",
        )
    ]


def test_weights_that_leave_nothing_for_the_kv_cache_are_refused() -> None:
    assert list(refusals(on("g6e.2xlarge", product="l40s", model={"sizeGib": 39}))) == [
        (
            ("model", "sizeGib"),
            "39.9 GiB weights + 1.0 GiB activations = 40.9 GiB >= 44.7 GiB x gpuMemoryUtilization 0.9 = 40.2 GiB of"
            " each GPU on g6e.2xlarge: nothing is left for the KV cache",
        )
    ]


def test_one_request_that_does_not_fit_is_refused_on_each_type_that_lacks_the_room() -> None:
    about = on("g6e.2xlarge", "g6e.8xlarge", product="l40s", model={"kv": GEMMA_31B}, engine={"maxModelLen": 32768})
    said = "one request of 32768 tokens needs 30.0 GiB of KV cache > 40.2 GiB share - 31.2 GiB weights"
    hint = "; layers with a sliding window need less: say model.kv.slidingLayers and slidingWindow"
    assert list(refusals(about)) == [
        (("engine", "maxModelLen"), f"{said} - 1.0 GiB activations = 8.0 GiB on {kind}{hint}")
        for kind in ("g6e.2xlarge", "g6e.8xlarge")
    ]
    sliding = on("g6e.2xlarge", product="l40s", model={"kv": SLIDING}, engine={"maxModelLen": 32768})
    assert list(refusals(sliding)) == [
        (
            ("engine", "maxModelLen"),
            "one request of 32768 tokens needs 12.0 GiB of KV cache > 40.2 GiB share - 31.2 GiB weights - 1.0 GiB"
            " activations = 8.0 GiB on g6e.2xlarge",
        )
    ]


def test_without_the_models_shape_no_context_is_refused_and_the_line_says_what_is_left() -> None:
    about = on("g7e.2xlarge", engine={"maxModelLen": 10_000_000})
    assert not list(refusals(about))
    assert not list(warnings(about))
    assert line(about, about.pool.types[0]) == (
        "86.4 GiB share - 31.2 GiB weights - 1.0 GiB activations = 54.2 GiB for the KV cache; how many tokens that"
        " holds is not known without model.kv"
    )


def test_the_line_says_how_many_of_the_longest_requests_have_room() -> None:
    about = on("g7e.2xlarge", model={"kv": SLIDING})
    assert line(about, about.pool.types[0]) == (
        "86.4 GiB share - 31.2 GiB weights - 1.0 GiB activations = 54.2 GiB for the KV cache: 7.2 requests of 8192"
        " tokens"
    )


def test_more_requests_than_have_room_are_a_warning() -> None:
    about = on("g7e.2xlarge", model={"kv": SLIDING})
    assert not list(refusals(about))
    assert list(warnings(about)) == [
        (
            ("engine", "maxNumSeqs"),
            "256 x 7.5 GiB of KV cache = 1920.0 GiB > 86.4 GiB share - 31.2 GiB weights - 1.0 GiB activations = 54.2"
            " GiB on g7e.2xlarge: room for 7.2 requests of 8192 tokens at once, further ones wait",
        )
    ]
    assert not list(warnings(on("g7e.2xlarge", model={"kv": SLIDING}, engine={"maxNumSeqs": 7})))


def test_a_share_that_leaves_no_room_for_graphs_is_a_warning() -> None:
    assert not list(warnings(on("g7e.2xlarge", engine={"gpuMemoryUtilization": 0.98})))
    about = on("g6.2xlarge", product="l4", model={"sizeGib": 8}, engine={"gpuMemoryUtilization": 0.95})
    assert list(warnings(about)) == [
        (
            ("engine", "gpuMemoryUtilization"),
            "22.4 GiB x 0.95 + 1.4 GiB CUDA context and graphs = 22.6 GiB > 22.4 GiB of each GPU on g6.2xlarge",
        )
    ]


def test_a_context_longer_than_the_models_is_refused() -> None:
    about = situation(model={"maxContext": 4096})
    refused = [(("engine", "maxModelLen"), "8192 > model.maxContext 4096: a context longer than the model's")]
    assert list(context_refusals(about.model, about.engine)) == refused
    assert list(refusals(about)) == refused
    fits = situation(model={"maxContext": 8192})
    assert not list(context_refusals(fits.model, fits.engine))


@pytest.mark.parametrize(
    ("gpus", "kv", "said"),
    [
        (3, {"kvHeads": 16}, "3 GPUs and model.kv.kvHeads 16: neither divides the other, and vLLM splits no head"),
        (
            6,
            {"kvHeads": 6, "globalKvHeads": 4},
            "6 GPUs and model.kv.globalKvHeads 4: neither divides the other, and vLLM splits no head",
        ),
        (8, {"kvHeads": 16, "globalKvHeads": 4}, None),
        (1, {"kvHeads": 3}, None),
        (3, None, None),
    ],
)
def test_gpus_that_the_heads_do_not_spread_over_are_refused(
    gpus: int, kv: dict[str, int] | None, said: str | None
) -> None:
    shape = kv and {"layers": 60, "headDim": 128, **kv}
    about = on("p5.48xlarge", product="h100", model={"kv": shape}, engine={"tensorParallel": gpus})
    expected = [(("engine", "tensorParallel"), said)] if said else []
    assert list(parallel_refusals(about.model, about.engine)) == expected
    assert list(refusals(about)) == expected


def test_a_type_with_too_few_gpus_is_not_reckoned() -> None:
    """Its own rule refuses it (serving/server/fit.py)."""
    about = on("g7e.2xlarge", engine={"tensorParallel": 2}, model={"sizeGib": 500, "kv": GEMMA_31B})
    assert not list(refusals(about))
    assert not list(warnings(about))


@given(
    sizes=st.tuples(*[st.floats(min_value=0.1, max_value=2000)] * 2).map(sorted),
    lengths=st.tuples(*[st.integers(min_value=256, max_value=1_000_000)] * 2).map(sorted),
    parallel=st.sampled_from([1, 2, 4, 8]),
)
def test_more_weights_leave_less_and_longer_requests_need_more(
    sizes: list[float], lengths: list[int], parallel: int
) -> None:
    small, large = (
        gpu_memory(about, about.pool.types[0])
        for about in (
            on(
                "g7e.48xlarge",
                model={"sizeGib": size, "kv": SLIDING},
                engine={"maxModelLen": length, "tensorParallel": parallel},
            )
            for size, length in zip(sizes, lengths, strict=True)
        )
    )
    assert small.left >= large.left
    assert 0 < small.request <= large.request  # type: ignore[operator]
    assert small.requests >= large.requests >= 0  # type: ignore[operator]
    assert small.left == pytest.approx(small.share - small.weights - small.activations)
