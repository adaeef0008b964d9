"""What vLLM's parser lets through and its engine refuses is refused before anything is made."""

from typing import Any

import pytest

from serving.arguments import ENGINES
from serving.arguments.together import LOADER_KEYS
from serving.engine import ONE_NODE, REFUSED, EngineSettings, argument_problems
from tests.harness import stack_settings

BOTH = pytest.mark.parametrize("engine", ENGINES)


def problems(
    engine: str, args: dict[str, Any], taken: dict[str, str] | None = None, **settings: int
) -> list[tuple[str, str]]:
    raw = {**stack_settings("dev")["servers"]["gemma"]["engine"], "version": engine, "args": args, **settings}
    return list(argument_problems(EngineSettings.model_validate(raw), taken or {}))


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
        assert problems(engine, {f"--{flag}": 2}) == [(f"--{flag}", f"refused: {why}")]


@BOTH
def test_every_format_whose_keys_are_known_is_one(engine: str) -> None:
    assert [name for name in LOADER_KEYS if problems(engine, {"load-format": name})] == []


@BOTH
@pytest.mark.parametrize(
    ("flag", "value", "shown"),
    [
        ("nnodes", 1, "1"),
        ("data-parallel-size", "1", '"1"'),
        ("pipeline-parallel-size", 1, "1"),
        ("headless", False, "false"),
        ("enable-sleep-mode", "false", '"false"'),
    ],
)
def test_what_is_so_without_the_flag_is_said_to_be(engine: str, flag: str, value: object, shown: str) -> None:
    assert problems(engine, {flag: value}) == [(flag, f"{shown}; leave it out: it is so already")]


@BOTH
def test_what_a_technique_switches_on_is_not_said_to_be_off_already(engine: str) -> None:
    assert problems(engine, {"enable-sleep-mode": False}, {"enable-sleep-mode": "sleep-mode"}) == [
        ("enable-sleep-mode", f"refused: {REFUSED['enable-sleep-mode']}")
    ]


@BOTH
def test_an_executor_of_one_node_is_left_to_vllm(engine: str) -> None:
    flag = "distributed-executor-backend"
    said = '"mp"; leave it out: vLLM takes uni for one GPU and mp for several'
    assert problems(engine, {flag: "mp"}) == [(flag, said)]
    assert problems(engine, {flag: "ray"}) == [(flag, f"refused: {ONE_NODE}")]


@BOTH
@pytest.mark.parametrize(
    ("flag", "value", "said"),
    [
        (
            "tp",
            2,
            "2; short for tensor-parallel-size;"
            " tensor-parallel-size is set by the program; change engine.tensorParallel instead",
        ),
        ("Port", 1, "1; vLLM {engine} has no such flag; port is set by the program; it is the same for every server"),
        (
            "max-modl-len",
            1,
            "1; vLLM {engine} has no such flag; max-model-len is set by the program; change engine.maxModelLen instead",
        ),
        (
            "enable_sleep_mode",
            True,
            "true; vLLM {engine} has no such flag; enable-sleep-mode is refused:"
            " opens endpoints without authentication; it comes as a technique of its own",
        ),
        (
            "nnodes=2",
            None,
            "null; flag and value in one; nnodes is refused: one server runs on one node:"
            " a model over several nodes is a later capability, not built yet",
        ),
        ("sed", 1, "1; vLLM {engine} has no such flag; seed is set by the technique seeded"),
        (
            "kv_cache_dtype",
            "fp8",
            '"fp8"; vLLM {engine} has no such flag; did you mean kv-cache-dtype? (serving/arguments/{engine}.json)',
        ),
    ],
)
def test_no_advice_is_refused_in_its_turn(engine: str, flag: str, value: object, said: str) -> None:
    assert problems(engine, {flag: value}, {"seed": "seeded"}) == [(flag, said.replace("{engine}", engine))]


def test_the_flag_that_switches_off_what_is_refused_is_no_advice_either() -> None:
    assert problems("0.26.0", {"no-enable-sleep-mode": True}) == [
        ("no-enable-sleep-mode", f"true; enable-sleep-mode is refused: {REFUSED['enable-sleep-mode']}")
    ]
