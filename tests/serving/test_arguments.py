"""Flags are checked against the table of their engine version, and written the way vLLM's parser wants them."""

import json
import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from serving.arguments import ENGINES, LONGEST, BadArgumentError, literal, table, written
from serving.arguments.together import NEEDS
from serving.engine import OWN_FLAGS, REFUSED
from serving.pod import baseline, template
from serving.techniques import TECHNIQUES
from tests.harness import Recording, stack_settings
from tests.serving.arguments.reader import read
from tests.serving.situations import situation

BOTH = pytest.mark.parametrize("engine", ENGINES)


def refusal(engine: str, flag: str, value: object) -> str:
    with pytest.raises(BadArgumentError) as refused:
        written(engine, flag, value)
    return str(refused.value)


def test_the_supported_engines_have_tables() -> None:
    assert ENGINES == ("0.26.0", "0.33.0")


@BOTH
def test_every_flag_that_the_program_names_exists(engine: str) -> None:
    techniques = [flag for technique in TECHNIQUES.values() for flag in technique.flags]
    named = (*OWN_FLAGS, *REFUSED, *NEEDS, *NEEDS.values(), *techniques)
    not_yet = {"0.26.0": ["grpc-port"], "0.33.0": []}
    assert [flag for flag in named if flag not in table(engine)] == not_yet[engine]


@BOTH
@pytest.mark.parametrize(
    ("flag", "value", "items"),
    [
        ("kv-cache-dtype", "fp8", ("--kv-cache-dtype=fp8",)),
        ("max-model-len", 8192, ("--max-model-len=8192",)),
        ("max-model-len", "8k", ("--max-model-len=8k",)),
        ("max-model-len", "auto", ("--max-model-len=auto",)),
        ("seed", "7", ("--seed=7",)),
        ("gpu-memory-utilization", 0.9, ("--gpu-memory-utilization=0.9",)),
        ("language-model-only", True, ("--language-model-only",)),
        ("language-model-only", "true", ("--language-model-only",)),
        ("served-model-name", ["a", "b c"], ("--served-model-name", "a", "b c")),
        ("cudagraph-capture-sizes", [1, 2, 4], ("--cudagraph-capture-sizes", "1", "2", "4")),
        ("compilation-config", {"mode": 3}, ('--compilation-config={"mode":3}',)),
        ("compilation-config", '{"mode": 3}', ('--compilation-config={"mode":3}',)),
        ("chat-template", "a $(X) $$ b", ("--chat-template=a $(X) $$ b",)),
        ("chat-template", "größe", ("--chat-template=größe",)),
        ("limit-mm-per-prompt", {"image": 4}, ('--limit-mm-per-prompt={"image":4}',)),
        ("compilation-config", {"cudagraph_mode": "FULL_AND_PIECEWISE"}, None),
        (
            "compilation-config",
            {"mode": 3, "cudagraph_capture_sizes": [1, 2], "pass_config": {"fuse_norm_quant": True}},
            None,
        ),
        ("speculative-config", {"method": "ngram", "num_speculative_tokens": 3, "prompt_lookup_max": 4}, None),
        ("kv-transfer-config", {"kv_connector": "LMCacheConnectorV1", "kv_role": "kv_both"}, None),
        ("hf-overrides", {"rope_scaling": {"factor": 4.0}}, None),
        ("model-loader-extra-config", '{"concurrency": 16}', ('--model-loader-extra-config={"concurrency":16}',)),
        ("allowed-origins", ["*"], ('--allowed-origins=["*"]',)),
        ("lora-modules", ["a=/models/a"], ("--lora-modules", "a=/models/a")),
        ("lora-modules", [{"name": "a", "path": "/models/a"}], ("--lora-modules", '{"name":"a","path":"/models/a"}')),
        ("kv-cache-memory-bytes", "25.6g", ("--kv-cache-memory-bytes=25.6g",)),
        ("cpu-offload-gb", 1e30, ("--cpu-offload-gb=1e+30",)),
        ("cpu-offload-gb", ".5", ("--cpu-offload-gb=.5",)),
        ("chat-template", 'größe="a b" --x', ('--chat-template=größe="a b" --x',)),
        ("allowed-media-domains", ["größe.example", "$(X)"], ("--allowed-media-domains", "größe.example", "$(X)")),
    ],
)
def test_VLM_12_values_are_written_as_the_parser_wants_them(
    engine: str, flag: str, value: object, items: tuple[str, ...] | None
) -> None:
    if items is None:
        items = (f"--{flag}={json.dumps(value, separators=(',', ':'), sort_keys=True)}",)
    assert written(engine, flag, value) == items


@BOTH
def test_VLM_12_a_false_switch_is_left_out(engine: str) -> None:
    assert written(engine, "language-model-only", False) == ()
    assert written(engine, "language-model-only", "false") == ()


def test_VLM_12_a_switch_that_is_on_by_itself_is_switched_off_in_the_spelling_of_its_version() -> None:
    """Left out, `enable-prefix-caching: false` would silently mean true."""
    assert written("0.26.0", "enable-prefix-caching", False) == ("--no-enable-prefix-caching",)
    assert written("0.33.0", "enable-prefix-caching", False) == ("--disable-prefix-caching",)


@BOTH
@pytest.mark.parametrize(
    ("flag", "value", "message"),
    [
        ("--max-model-len 8192", None, "flag and value in one; write max-model-len: 8192"),
        ("max-model-len=8192", None, "flag and value in one; write max-model-len: 8192"),
        ("--seed", 1, "write it without dashes: seed"),
        ("tp", 2, "short for tensor-parallel-size; write tensor-parallel-size"),
        ("no-language-model-only", True, "write language-model-only: false"),
        ("seed", "one", "expected a whole number"),
        ("seed", True, "expected a whole number"),
        ("seed", [1], "expected a whole number"),
        ("seed", None, "expected a whole number"),
        ("language-model-only", "yes", "expected true or false"),
        ("language-model-only", 1, "expected true or false"),
        ("compilation-config", 3, 'expected a JSON object, for example {"key": "value"}'),
        ("compilation-config", [], 'expected a JSON object, for example {"key": "value"}'),
        (
            "compilation-config",
            "{mode",
            "not JSON: Expecting property name enclosed in double quotes: line 1 column 2 (char 1)",
        ),
        ("model-loader-extra-config", [1], 'expected a JSON object, for example {"key": "value"}'),
        ("max-model-len", "8.5K", "expected a whole number, one with a unit such as 8k, or auto"),
        ("max-model-len", 8.5, "expected a whole number, one with a unit such as 8k, or auto"),
        ("served-model-name", ["a", "-b"], "-b would be read as another flag"),
        ("compilation-config", "'{\"mode\": 3}'", "JSON in another pair of quotes; write the object itself"),
        ("served-model-name", [], "expected at least one value"),
        ("compilation-config", {"modes": 3}, "modes: no such key; did you mean mode?"),
        (
            "compilation-config",
            {"pass_config": {"fuse_norm_quants": True}},
            "pass_config.fuse_norm_quants: no such key; did you mean fuse_norm_quant?",
        ),
        (
            "compilation-config",
            {"cudagraph_capture_sizes": [1, "x"]},
            "cudagraph_capture_sizes[1]: expected a whole number",
        ),
        ("compilation-config", {"compile_mm_encoder": "maybe"}, "compile_mm_encoder: expected true or false"),
        ("kv-transfer-config", {"kv_role": "both"}, "kv_role: did you mean kv_both?"),
        ("speculative-config", {"num_speculative_tokens": 0}, "num_speculative_tokens: expected > 0"),
        ("limit-mm-per-prompt", ["image"], "expected an object or null"),
        ("limit-mm-per-prompt", {"image": "many"}, "image: expected a whole number or an object"),
        ("override-generation-config", [1], "expected an object"),
        ("allowed-origins", {"a": 1}, "expected a list"),
        ("hf-overrides", "text", "expected an object"),
        (
            "model-loader-extra-config",
            "{concurrency: 16}",
            "not JSON: Expecting property name enclosed in double quotes: line 1 column 2 (char 1)",
        ),
        ("model-loader-extra-config", "concurrency", "expected an object"),
        ("gpu-memory-utilization", 1.5, "expected <= 1"),
        ("gpu-memory-utilization", 0, "expected > 0"),
        ("max-num-seqs", 0, "expected >= 1"),
        ("max-num-seqs", "٣", "expected a whole number"),
        ("max-num-batched-tokens", "0k", "expected >= 1"),
        ("block-size", -1, "expected > 0"),
        ("prefix-match-unit", 0, "expected > 0"),
        ("mamba-block-size", 0, "expected > 0"),
        ("max-parallel-loading-workers", 0, "expected >= 1"),
        ("video-pruning-rate", 1.0, "expected < 1"),
        ("lora-modules", ["a"], "expected name=path, or an object"),
        ("lora-modules", [{"name": "a"}], "path: missing"),
        ("served-model-name", [""], '"" is nothing to vLLM, and so no item of a list'),
        ("served-model-name", ["a", "None"], '"None" is nothing to vLLM, and so no item of a list'),
        (
            "compilation-config.mode",
            3,
            "vLLM {engine} has no such flag; did you mean compilation-config? (serving/arguments/{engine}.json)",
        ),
        (
            "max_model_len",
            3,
            "vLLM {engine} has no such flag; did you mean max-model-len? (serving/arguments/{engine}.json)",
        ),
        ("seed", "$(X)", "expected a whole number"),
        ("kv-cache-memory", 1, None),
    ],
)
def test_VLM_12_what_the_parser_would_misread_is_refused(
    engine: str, flag: str, value: object, message: str | None
) -> None:
    if message is None:  # an abbreviation: argparse takes it today and breaks with the next flag of that beginning
        message = (
            f"vLLM {engine} has no such flag; did you mean kv-cache-memory-bytes? (serving/arguments/{engine}.json)"
        )
    assert refusal(engine, flag, value) == message.replace("{engine}", engine)


def test_a_flag_of_another_version_is_refused() -> None:
    assert "sleep-mode-backend" in table("0.33.0")
    assert refusal("0.26.0", "sleep-mode-backend", "x").startswith("vLLM 0.26.0 has no such flag; ")


def expanded(text: str, variables: dict[str, str]) -> str:
    """What Kubernetes makes of a container's argument: expand() of its third_party/forked/golang/expansion."""

    def read(found: re.Match[str]) -> str:
        if found[0] == "$$":
            return "$"
        return variables.get(found[1], found[0])

    return re.sub(r"\$\$|\$\(([^)]*)\)", read, text)


@given(st.lists(st.sampled_from(["$", "$$", "(", ")", "HOME", "$(HOME)", "a"])).map("".join))
@example("$$(HOME)")
@example("$(HOME")
@example("cost: $5, $$")
def test_the_engine_gets_exactly_what_was_written(text: str) -> None:
    assert expanded(literal(text), {"HOME": "/vllm-cache/home"}) == text


def test_the_pod_says_it_the_way_kubernetes_reads_it() -> None:
    about = situation(engine={"args": {"chat-template": "$$(HOME) $(HOME) $"}})
    items = template.arguments(baseline(about, "claim"), about)
    assert "--chat-template=$$$$(HOME) $$(HOME) $$" in items


def arguments(recording: Recording) -> list[str]:
    (deployment,) = recording.all("kubernetes:apps/v1:Deployment")
    return deployment.inputs["spec"]["template"]["spec"]["containers"][0]["args"]


def test_the_command_line_of_every_stack_parses_against_its_engines_table(recording: Recording, stack: str) -> None:
    items = arguments(recording)
    server = stack_settings(stack)["servers"]["gemma"]
    model, found = read(server["engine"]["version"], items)
    assert model == server["model"]["uri"]
    assert found["served-model-name"] == [server["model"]["servedName"]]
    assert found["max-model-len"] == str(server["engine"]["maxModelLen"])
    assert found["load-format"] == "runai_streamer"
    assert (found["host"], found["port"]) == ("127.0.0.1", 8001)  # behind the proxy
    assert all(isinstance(item, str) for item in items)


def test_nothing_secret_is_on_the_command_line(recording: Recording) -> None:
    assert not [item for item in arguments(recording) if "key" in item.partition("=")[0]]


@BOTH
def test_an_argument_that_no_process_can_be_given_is_refused(engine: str) -> None:
    """The pod would be admitted, and its engine never start: `argument list too long`."""
    room = LONGEST - len("--chat-template=") - 1
    assert written(engine, "chat-template", "x" * room)
    assert refusal(engine, "chat-template", "x" * (room + 1)) == (
        "131072 bytes; Linux gives a process no argument of 131072 and more"
    )
