"""Every command line of the program reads back, by its engine's table, as what it was meant to say."""

import pytest

from serving.arguments import ENGINES
from serving.techniques import TECHNIQUES
from tests.serving.arguments.command_lines import CommandLine, command_lines
from tests.serving.arguments.reader import MisreadError, read, rows
from tests.serving.ladder.matrix import TYPES

LINES = tuple(command_lines())


def test_every_command_line_parses_against_its_engines_table() -> None:
    for line in LINES:
        model, found = read(line.engine, list(line.items))
        assert model.startswith(("/models", "s3://")), line.label
        where = {"0.0.0.0": 8000, "127.0.0.1": 8001}  # noqa: S104 - itself, or behind the front proxy
        assert found["port"] == where[found["host"]], line.label
        assert found["served-model-name"] == ["gemma-4-31b"], line.label


def test_a_stack_an_engine_an_instance_type_and_a_technique_each_have_command_lines() -> None:
    """What the program refuses is left out, and it could refuse everything."""
    words = {(line.engine, *line.label.split(" ", 2)) for line in LINES}
    for engine in ENGINES:
        assert {where for its, where, *_ in words if its == engine} == {"dev/gemma", "staging/gemma", "prod/gemma"}
        assert {kind for its, _, kind, _ in words if its == engine} == set(TYPES)
        combinations = {combination for its, *_, combination in words if its == engine}
        assert combinations >= {"baseline", "as in the stack", "together", *TECHNIQUES}


def test_no_two_command_lines_have_one_label() -> None:
    assert len({(line.engine, line.label) for line in LINES}) == len(LINES)


@pytest.mark.parametrize(
    ("items", "message"),
    [
        ([], "the model does not come first"),
        (["--seed=1", "/models"], "the model does not come first"),
        (["/models", "--no-such-flag"], "no flag --no-such-flag"),
        (["/models", "--kv-cache-memory=1"], "no flag --kv-cache-memory"),
        (["/models", "-tp=2"], "-tp=2 belongs to no flag"),
        (["/models", "--tp=2"], "no flag --tp"),
        (["/models", "--seed 1"], "no flag --seed 1"),
        (["/models", "--seed", "1"], "--seed without a value"),
        (["/models", "--seed=1", "--seed=2"], "--seed twice"),
        (["/models", "--language-model-only", "--no-language-model-only"], "--language-model-only twice"),
        (["/models", "--seed=x"], "--seed: x is no int"),
        (["/models", "--seed=٣"], "--seed: ٣ is no int"),
        (["/models", "--gpu-memory-utilization=much"], "--gpu-memory-utilization: much is no float"),
        (["/models", "--max-model-len=8.5K"], "--max-model-len: 8.5K is no size-or-auto"),
        (["/models", "--language-model-only=true"], "--language-model-only takes no value"),
        (["/models", "--served-model-name=a"], "--served-model-name takes its values behind it, one or more"),
        (["/models", "--served-model-name"], "--served-model-name takes its values behind it, one or more"),
        (["/models", "--served-model-name", "a", "-b"], "-b belongs to no flag"),
        (["/models", "--dtype=float128"], "--dtype has no choice float128"),
        (["/models", "--compilation-config={mode"], "--compilation-config: {mode is no JSON"),
        (["/models", "--compilation-config=3"], "--compilation-config: 3 is no JSON object"),
        (["/models", "--compilation-config=[3]"], "--compilation-config: [3] is no JSON object"),
    ],
)
@pytest.mark.parametrize("engine", ENGINES)
def test_the_reader_refuses_what_vllm_would_refuse_or_misread(engine: str, items: list[str], message: str) -> None:
    with pytest.raises(MisreadError) as refused:
        read(engine, items)
    assert str(refused.value) == message


def test_the_reader_reads_each_kind_of_value() -> None:
    items = ["/models", "--seed=-7", "--max-model-len=8k", "--cudagraph-capture-sizes", "1", "2", "--enforce-eager"]
    items += ["--no-enable-prefix-caching", '--compilation-config={"mode":3}', "--gpu-memory-utilization=.9"]
    assert read("0.26.0", items) == (
        "/models",
        {
            "seed": -7,
            "max-model-len": "8k",
            "cudagraph-capture-sizes": [1, 2],
            "enforce-eager": True,
            "enable-prefix-caching": False,
            "compilation-config": {"mode": 3},
            "gpu-memory-utilization": 0.9,
        },
    )


@pytest.mark.parametrize("engine", ENGINES)
def test_the_reader_knows_every_kind_of_the_table(engine: str) -> None:
    known = {"switch", "int", "float", "size", "size-or-auto", "text", "object", "json", "json-or-text"}
    known |= {"pair-or-object"}
    assert {row["kind"] for row in rows(engine).values()} <= known


def test_a_line_says_where_it_comes_from() -> None:
    assert LINES[0] == CommandLine("0.26.0", "dev/gemma g6e.2xlarge baseline", LINES[0].items)
