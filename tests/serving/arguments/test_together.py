"""What vLLM refuses of flags that go past its parser, and what it takes (most also in `make parser-check`)."""

from typing import Any

import pytest

from infra.section import shown
from serving.arguments import ENGINES
from tests.serving.arguments.test_engine_refusals import problems

BOTH = pytest.mark.parametrize("engine", ENGINES)
METHODS = "dspark, extract_hidden_states, ngram, ngram_gpu, suffix, or one of mtp"


@BOTH
@pytest.mark.parametrize(
    ("args", "problem"),
    [
        ({"api-server-count": 0}, "expected >= 1: a headless engine serves nothing"),
        ({"api-server-count": "-1"}, "expected >= 1: a headless engine serves nothing"),
        ({"max-cudagraph-capture-size": 0}, "expected >= 1; no graphs at all: enforce-eager: true"),
        ({"numa-bind-nodes": [0]}, "needs numa-bind beside it"),
        ({"numa-bind-nodes": 0, "numa-bind": False}, "needs numa-bind beside it"),
        ({"numa-bind-cpus": ["0-3"]}, "needs numa-bind beside it"),
        ({"collect-detailed-traces": ["all"]}, "needs otlp-traces-endpoint beside it"),
        ({"max-cpu-loras": 2, "max-loras": 4, "enable-lora": True}, "expected >= max-loras 4"),
        ({"kv-transfer-config": {"kv_connector": "LMCacheConnectorV1"}}, "kv_role: missing"),
        ({"kv-transfer-config": '{"kv_role": "kv_both"}'}, "kv_connector: missing"),
        ({"speculative-config": {}}, f"draft_model needs a model; methods without one: {METHODS}"),
        (
            {"speculative-config": {"method": "eagle3", "num_speculative_tokens": 3}},
            f"eagle3 needs a model; methods without one: {METHODS}",
        ),
        ({"speculative-config": {"method": "ngram"}}, "ngram needs num_speculative_tokens"),
        ({"speculative-config": {"model": "ngram"}}, "ngram needs num_speculative_tokens"),
        ({"speculative-config": {"method": "gemma4_mtp"}}, "gemma4_mtp needs num_speculative_tokens"),
        ({"spec-method": "ngram"}, "ngram needs num_speculative_tokens"),
        ({"spec-tokens": 3}, f"draft_model needs a model; methods without one: {METHODS}"),
        (
            {
                "spec-method": "ngram",
                "speculative-config": {"method": "ngram", "num_speculative_tokens": 3},
            },
            "speculative-config says method already",
        ),
        (
            {"compilation-config": {"mode": 4}},
            "mode: allowed: DYNAMO_TRACE_ONCE, NONE, STOCK_TORCH_COMPILE, VLLM_COMPILE",
        ),
        ({"compilation-config": {"mode": "vllm_compil"}}, "mode: did you mean VLLM_COMPILE?"),
        ({"compilation-config": '{"cudagraph_mode": "piecewse"}'}, "cudagraph_mode: did you mean PIECEWISE?"),
        (
            {"compilation-config": {"cudagraph_mode": [2, 0]}},
            "cudagraph_mode: allowed: FULL, FULL_AND_PIECEWISE, FULL_DECODE_ONLY, NONE, PIECEWISE",
        ),
        ({"attention-config": {"backend": "flashinfr"}}, "backend: did you mean FLASHINFER?"),
    ],
)
def test_VLM_12_what_vllm_refuses_at_its_start_is_refused(engine: str, args: dict[str, Any], problem: str) -> None:
    flag, value = next(iter(args.items()))
    assert problems(engine, args) == [(flag, f"{shown(value)}; {problem}")]


@pytest.mark.parametrize(
    ("args", "problem"),
    [
        ({"max-num-active-seqs": 0}, "expected >= 1"),
        ({"max-num-active-seqs": 257}, "expected <= engine.maxNumSeqs 256"),
        ({"sse-keep-alive-interval": -1}, "expected >= 0"),
    ],
)
def test_VLM_12_what_only_the_newer_one_has_is_refused_there(args: dict[str, Any], problem: str) -> None:
    flag, value = next(iter(args.items()))
    assert problems("0.33.0", args) == [(flag, f"{value}; {problem}")]


@BOTH
def test_VLM_12_a_prompt_longer_than_a_batch_that_may_not_be_split_is_refused(engine: str) -> None:
    args = {"enable-chunked-prefill": False}
    assert problems(engine, args, maxModelLen=8192, maxNumBatchedTokens=8192) == []
    assert problems(engine, args, maxModelLen=8192, maxNumBatchedTokens=4096) == [
        (
            "enable-chunked-prefill",
            "false; engine.maxModelLen 8192 > engine.maxNumBatchedTokens 4096: no batch holds such a prompt",
        )
    ]


@BOTH
@pytest.mark.parametrize(
    "args",
    [
        {"api-server-count": 1},
        {"max-cudagraph-capture-size": 0, "enforce-eager": True},
        {"max-cudagraph-capture-size": 0, "optimization-level": 0},
        {"max-cudagraph-capture-size": 0, "compilation-config": {"cudagraph_mode": "NONE"}},
        {"numa-bind": True, "numa-bind-nodes": [0]},
        {"collect-detailed-traces": ["all"], "otlp-traces-endpoint": "http://traces:4317"},
        {"max-cpu-loras": 2, "max-loras": 4},
        {"max-cpu-loras": 0, "max-loras": 4, "enable-lora": True},
        {"speculative-config": {"method": "ngram", "num_speculative_tokens": 3}},
        {"speculative-config": {"model": "ngram", "num_speculative_tokens": 3}},
        {"speculative-config": {"method": "gemma4_mtp", "num_speculative_tokens": 3}},
        {"speculative-config": {"method": "suffix"}},
        {"speculative-config": {"method": "eagle3", "model": "/models/draft"}},
        {"spec-method": "ngram", "spec-tokens": 3},
        {"spec-tokens": 3, "speculative-config": {"method": "ngram"}},
        *({"compilation-config": {"mode": mode}} for mode in (0, 3, True, 2.0, None, "none", "VLLM_COMPILE")),
        *({"compilation-config": {"cudagraph_mode": mode}} for mode in (2, None, "full_and_piecewise")),
        *({"attention-config": {"backend": name}} for name in ("auto", "flashinfer", None)),
    ],
)
def test_what_vllm_takes_is_taken(engine: str, args: dict[str, Any]) -> None:
    assert problems(engine, args) == []


@BOTH
@pytest.mark.parametrize(
    ("args", "said"),
    [
        ({"max-cpu-loras": 2, "enable-lora": True, "max-loras": "many"}, "max-loras"),
        ({"spec-tokens": 3, "speculative-config": "text"}, "speculative-config"),
        ({"spec-tokens": 3, "speculative-config": "{method"}, "speculative-config"),
    ],
)
def test_a_flag_beside_that_is_wrong_is_said_to_be_itself(engine: str, args: dict[str, Any], said: str) -> None:
    assert said in [flag for flag, _ in problems(engine, args)]


@BOTH
def test_a_number_of_any_length_is_judged(engine: str) -> None:
    """Python makes no whole number of more than 4,300 digits of a text."""
    assert problems(engine, {"api-server-count": "9" * 5000}) == []
