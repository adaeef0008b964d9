"""The log parser against lines of a real start on an H200 (vLLM 0.26.0)."""

import pytest

import engine_log

PREFIX = "(EngineCore pid=1420) INFO 11-29 16:32:14 "
GRAPHS = (
    PREFIX
    + "[backends.py:292] Directly load the compiled graph(s) for compile range (1, 8192) from the cache, took 1.551 s"
)
AOT = PREFIX + "[decorators.py:311] Directly load AOT compilation from path /vllm-cache/t/6a/rank_0_0/model"
DYNAMO = PREFIX + "[backends.py:1155] Dynamo bytecode transform time: 3.68 s"
DIRECTORY = (
    PREFIX
    + "[backends.py:1094] Using cache directory: /vllm-cache/t/683adf595a/rank_0_0/backbone for vLLM's torch.compile"
)
TOTAL = PREFIX + "[monitor.py:53] torch.compile took 6.10 s in total"
HIT = [DIRECTORY, DYNAMO, GRAPHS, AOT, TOTAL]


def read(lines: list[str]):
    start = engine_log.Start("0.26.0")
    for number, line in enumerate(lines):
        start.read(line, float(number))
    return start


def test_both_layers_loaded_is_a_full_hit_although_dynamo_runs():
    start = read(HIT)
    assert start.why_no_full_hit() is None
    assert start.directory == "/vllm-cache/t/683adf595a/rank_0_0/backbone"


@pytest.mark.parametrize("missing", [GRAPHS, AOT])
def test_one_layer_alone_is_no_full_hit(missing):
    assert (
        read([line for line in HIT if line != missing]).why_no_full_hit().startswith("it does not say: Directly load ")
    )


@pytest.mark.parametrize(
    "line",
    [
        "[backends.py:393] Compiling a graph for compile range (1, 8192) takes 2.23 s",
        "[backends.py:378] Cache the graph of compile range (1, 8192) for later use",
        "[decorators.py:708] saved AOT compiled function to /vllm-cache/x",
        "[decorators.py:322] Compiling model again due to a load failure from /x, reason: pickle data was truncated",
        "[decorators.py:720] unable to save AOT compiled function to /x: disk full",
    ],
)
def test_any_line_of_a_miss_outweighs_the_lines_of_a_hit(line):
    assert read([*HIT, PREFIX + line]).why_no_full_hit() == f"it says: {PREFIX}{line}"


def test_a_forced_load_with_the_second_layer_missing_is_no_full_hit():
    """VLLM_FORCE_AOT_LOAD passes there: seen on the H200 (gpu.md 0.5)."""
    lines = [DIRECTORY, AOT, PREFIX + "[backends.py:393] Compiling a graph for compile range (1, 4096) takes 2.23 s"]
    assert read(lines).why_no_full_hit() is not None


def test_an_engine_with_one_layer_that_misses_is_no_eager_engine():
    """Seen on the real engine on a CPU: no cache directory, no total, and the warm start compiled again."""
    failure = "[decorators.py:321] Compiling model again due to a load failure from /x, reason: y"
    start = read([PREFIX + failure, PREFIX + "[decorators.py:708] saved AOT compiled function to /x"])
    assert start.compiles
    assert start.why_no_full_hit() == f"it says: {PREFIX}{failure}"


def test_an_eager_engine_is_told_from_one_that_missed():
    start = read([PREFIX + "[core.py:347] init engine (profile, create kv cache, warmup model) took 8.1 s"])
    assert not start.compiles
    assert start.why_no_full_hit() == "it does not compile"


def test_phases_end_at_their_first_line():
    start = read(
        [
            "(APIServer pid=1) INFO 11-29 16:31:42 [api_utils.py:345]  ▄▄ ▄█ █     █     █ ▀▄▀ █  version 0.26.0",
            "(APIServer pid=1) INFO 11-29 16:31:42 [model.py:623] Resolved architecture: Qwen3ForCausalLM",
            PREFIX + "[model_runner.py:305] Model loading took 15.27 GiB and 4.419845 seconds",
            PREFIX + "[jit_monitor.py:79] Kernel JIT monitor activated; monitored JIT compilations",
            "(APIServer pid=1) INFO:     Application startup complete.",
            "(APIServer pid=1) INFO:     Application startup complete.",
        ]
    )
    assert start.ends == {"import": 0.0, "resolve": 1.0, "load": 2.0, "kernels": 3.0, "listening": 4.0}


def test_an_unknown_version_is_refused_by_name():
    with pytest.raises(engine_log.UnknownVersionError, match=r"engine version '0\.9': want one of 0\.26\.0, 0\.33\.0"):
        engine_log.Start("0.9")
