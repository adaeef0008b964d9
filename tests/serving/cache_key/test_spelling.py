"""One value, one spelling: what means the same to vLLM's parser has one fingerprint."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from serving.arguments import ENGINES, BadArgumentError, table
from serving.cache_key.spelling import canonical_flags
from tests.serving.cache_key.servers import print_of, server, with_flags

BOTH = pytest.mark.parametrize("engine", ENGINES)


@BOTH
@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"enable-prefix-caching": False}, {"enable-prefix-caching": "false"}),
        ({"language-model-only": True}, {"language-model-only": "true"}),
        ({"language-model-only": False}, {}),
        ({"cpu-offload-gb": 0.9}, {"cpu-offload-gb": "0.90"}),
        ({"cpu-offload-gb": 1}, {"cpu-offload-gb": "1.0"}),
        ({"cpu-offload-gb": "1e-1"}, {"cpu-offload-gb": 0.1}),
        ({"seed": 7}, {"seed": "007"}),
        ({"kv-cache-memory-bytes": "8k"}, {"kv-cache-memory-bytes": 8000}),
        ({"kv-cache-memory-bytes": "8K"}, {"kv-cache-memory-bytes": "8192"}),
        ({"kv-cache-memory-bytes": "2.5g"}, {"kv-cache-memory-bytes": 2_500_000_000}),
        ({"max-model-len": "auto"}, {"max-model-len": -1}),
        ({"additional-config": {"a": 1, "b": 0.9}}, {"additional-config": '{ "b": 0.90, "a": 1 }'}),
        ({"lora-modules": "a=b"}, {"lora-modules": ["a=b"]}),
        ({"tensor-parallel-size": 2}, {"tp": 2}),
        ({"seed": 7}, {"--seed": 7}),
    ],
)
def test_two_spellings_are_one_value(engine: str, one: dict[str, Any], other: dict[str, Any]) -> None:
    assert canonical_flags(engine, one) == canonical_flags(engine, other)


@BOTH
@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"kv-cache-memory-bytes": "8k"}, {"kv-cache-memory-bytes": "8K"}),
        ({"enable-prefix-caching": True}, {}),
        ({"additional-config": {"a": True}}, {"additional-config": {"a": "true"}}),
        ({"chat-template": "$(X)"}, {"chat-template": "$$(X)"}),
        ({"cudagraph-capture-sizes": [1, 2]}, {"cudagraph-capture-sizes": [2, 1]}),
        ({"chat-template": "a"}, {"chat-template": "a "}),
    ],
)
def test_two_values_never_have_one_spelling(engine: str, one: dict[str, Any], other: dict[str, Any]) -> None:
    assert canonical_flags(engine, one) != canonical_flags(engine, other)


@BOTH
def test_a_value_is_what_the_engine_gets_and_not_what_kubernetes_is_told(engine: str) -> None:
    assert canonical_flags(engine, {"chat-template": "$$ $(X)"}) == {"chat-template": "$$ $(X)"}


@BOTH
def test_the_flag_that_switches_off_is_the_switch_set_to_false(engine: str) -> None:
    negatives = {a.negative: name for name, a in table(engine).items() if a.negative}
    assert len(negatives) > 20
    for negative, name in negatives.items():
        for on, off in ((True, False), ("true", "false")):
            assert canonical_flags(engine, {negative: on}) == canonical_flags(engine, {name: off})
            assert canonical_flags(engine, {negative: off}) == canonical_flags(engine, {name: on})


@BOTH
def test_the_last_of_two_spellings_of_a_flag_wins_as_on_the_command_line(engine: str) -> None:
    assert canonical_flags(engine, {"language-model-only": True, "no-language-model-only": True}) == {}
    assert canonical_flags(engine, {"tp": 2, "tensor-parallel-size": 4}) == {"tensor-parallel-size": 4}


@BOTH
@pytest.mark.parametrize(
    "flags", [{"no-such-flag": 1}, {"seed": "x"}, {"language-model-only": []}, {"no-enable-prefix-caching": []}]
)
def test_what_the_engine_would_refuse_has_no_key(engine: str, flags: dict[str, Any]) -> None:
    with pytest.raises(BadArgumentError):
        canonical_flags(engine, flags)


def test_the_stack_files_flags_win_over_those_of_techniques() -> None:
    """As on the command line."""
    set_by_both = with_flags(server(args={"seed": 7}), {"seed": 5})
    assert print_of(set_by_both) == print_of(server(args={"seed": 7}))


ARGS = {"seed": 7, "enforce-eager": True, "additional-config": {"a": 1, "b": {"c": 2, "d": 3}}, "block-size": 32}


@given(st.permutations(list(ARGS)), st.permutations(["a", "b"]), st.permutations(["c", "d"]))
def test_no_order_is_in_the_fingerprint(names: list[str], keys: list[str], inner: list[str]) -> None:
    nested: dict[str, Any] = {"a": 1, "b": {key: {"c": 2, "d": 3}[key] for key in inner}}
    args = {name: ARGS[name] for name in names} | {"additional-config": {key: nested[key] for key in keys}}
    assert print_of(server(args=args)) == print_of(server(args=ARGS))
