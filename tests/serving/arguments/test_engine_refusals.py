"""What vLLM's parser lets through and its engine refuses is refused before anything is made."""

from typing import Any

import pytest

from serving.arguments import ENGINES
from serving.engine import LOADER_KEYS, REFUSED, EngineSettings, argument_problems
from tests.harness import stack_settings

BOTH = pytest.mark.parametrize("engine", ENGINES)


def problems(engine: str, args: dict[str, Any]) -> list[tuple[str, str]]:
    raw = {**stack_settings("dev")["servers"]["gemma"]["engine"], "version": engine, "args": args}
    return list(argument_problems(EngineSettings.model_validate(raw), {}))


@BOTH
@pytest.mark.parametrize(
    ("flag", "value", "hint"),
    [
        ("load-format", "runai_stramer", "did you mean runai_streamer?"),
        ("quantization", "fp9", "did you mean fp8?"),
        ("attention-backend", "flashinfer", "did you mean FLASHINFER?"),
        ("reasoning-parser", "gema4", "did you mean gemma4?"),
        ("tool-call-parser", "hermess", "did you mean hermes?"),
        ("mamba-backend", "triton", "did you mean TRITON?"),
        ("optimization-level", 4, "allowed: 0, 1, 2, 3"),
        ("config-format", "nonsense", "allowed: auto, hf, mistral"),
    ],
)
def test_VLM_12_a_name_that_the_engine_does_not_know_is_refused(
    engine: str, flag: str, value: object, hint: str
) -> None:
    shown = f'"{value}"' if isinstance(value, str) else value
    assert problems(engine, {flag: value}) == [(flag, f"{shown}; vLLM {engine} knows no such name; {hint}")]


@BOTH
@pytest.mark.parametrize(
    "args",
    [
        {"load-format": "safetensors"},
        {"quantization": "fp8"},
        {"attention-backend": "TRITON_ATTN"},
        {"reasoning-parser": "gemma4"},
        {"tool-call-parser": "gemma4", "enable-auto-tool-choice": True},
        {"kv-cache-dtype": "fp8"},
        {"optimization-level": 2},
        {"reasoning-parser": "mine", "reasoning-parser-plugin": "/plugins/mine.py"},
        {"tool-call-parser": "mine", "tool-parser-plugin": "/plugins/mine.py"},
        {"enable-log-outputs": "true", "enable-log-requests": "true"},
        {"enable-auto-tool-choice": False},
        {"load-format": "runai_streamer", "model-loader-extra-config": {"concurrency": 16, "memory_limit": -1}},
        {"model-loader-extra-config": '{"enable_multithread_load": true, "num_threads": 8}'},
        {"load-format": "tensorizer", "model-loader-extra-config": {"tensorizer_config": {"tensorizer_uri": "x"}}},
    ],
)
def test_what_both_engines_take_is_taken(engine: str, args: dict[str, Any]) -> None:
    assert problems(engine, args) == []


@BOTH
@pytest.mark.parametrize(
    ("args", "flag", "problem"),
    [
        ({"enable-auto-tool-choice": True}, "enable-auto-tool-choice", "true; needs tool-call-parser beside it"),
        ({"enable-log-outputs": "true"}, "enable-log-outputs", '"true"; needs enable-log-requests beside it'),
        (
            {"enable-log-outputs": True, "enable-log-requests": False},
            "enable-log-outputs",
            "true; needs enable-log-requests beside it",
        ),
        (
            {"load-format": "runai_streamer", "model-loader-extra-config": {"concurency": 16}},
            "model-loader-extra-config",
            '{"concurency": 16}; concurency: no such key; did you mean concurrency?',
        ),
        (
            {"model-loader-extra-config": '{"concurrency": 16}'},
            "model-loader-extra-config",
            '"{\\"concurrency\\": 16}"; concurrency: no such key;'
            " allowed: enable_multithread_load, enable_weights_track, num_threads",
        ),
        (
            {"load-format": "dummy", "model-loader-extra-config": {"a": 1}},
            "model-loader-extra-config",
            '{"a": 1}; a: no such key; allowed: none',
        ),
        (
            {"load-format": "dummy", "model-loader-extra-config": "text"},
            "model-loader-extra-config",
            '"text"; expected an object',
        ),
    ],
)
def test_VLM_12_flags_that_do_not_go_together_are_refused(
    engine: str, args: dict[str, Any], flag: str, problem: str
) -> None:
    assert problems(engine, args) == [(flag, problem)]


@BOTH
@pytest.mark.parametrize(
    "flag", ["nnodes", "node-rank", "master-addr", "data-parallel-rank", "data-parallel-hybrid-lb"]
)
def test_more_than_one_node_is_refused_and_said_to_come_later(engine: str, flag: str) -> None:
    said = "refused: one server runs on one node: a model over several nodes is a later capability, not built yet"
    assert problems(engine, {flag: 2}) == [(flag, said)]


@BOTH
def test_a_flag_that_is_refused_is_refused_in_any_spelling_of_its_dashes(engine: str) -> None:
    for flag, why in REFUSED.items():
        assert problems(engine, {f"--{flag}": 1}) == [(f"--{flag}", f"refused: {why}")]


@BOTH
def test_every_format_whose_keys_are_known_is_one(engine: str) -> None:
    assert [name for name in LOADER_KEYS if problems(engine, {"load-format": name})] == []
