"""Servers that may sleep; and money's rules over whatever a program may hand them."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from guardrails import money
from guardrails.rule import Unchecked, Violation, judged
from tests.policies.conftest import UNKNOWN, found, resource, unchecked
from tests.policies.money.parts import endpoint, nat, node_class, pool, server

KEY = "vllm-eks/break-even-seconds"
FLAG = "--enable-sleep-mode"
MISSING = f"{FLAG}, and no annotation {KEY}; write from how many idle seconds on sleep pays"


def test_a_server_that_says_from_when_on_sleep_pays_passes():
    assert found("sleep-break-even", server(FLAG, annotations={KEY: "600"})) == []
    assert found("sleep-break-even", server(FLAG, of_pod={KEY: "90.5"})) == []
    assert found("sleep-break-even", server("--port", "8000", "--no-enable-sleep-mode")) == []


@pytest.mark.parametrize("word", [FLAG, "--enable_sleep_mode", f"exec vllm serve /m {FLAG} --port 8000"])
def test_a_server_that_may_sleep_without_a_break_even(word):
    assert found("sleep-break-even", server("--port", "8000", word)) == [MISSING]
    assert found("sleep-break-even", server(word, annotations={"team/sleeps-from": "60"})) == [MISSING]
    named = {"annotation": "team/sleeps-from"}
    assert found("sleep-break-even", server(word, annotations={"team/sleeps-from": "60"}), config=named) == []


@pytest.mark.parametrize("value", ["soon", "0", "-5", "1e999", "nan"])
def test_a_break_even_is_a_number_of_seconds(value):
    it = server(FLAG, annotations={KEY: value})
    assert found("sleep-break-even", it) == [f"annotation {KEY} is '{value}'; write a number of seconds above 0"]


def test_TST_03_sleep():
    words = "spec.template.spec.containers"
    # one word that is not known hides none that is
    assert found("sleep-break-even", server(FLAG, sidecar=[UNKNOWN])) == [MISSING]
    assert unchecked("sleep-break-even", server("--port", UNKNOWN)) == [f"{words}[1].args[1]"]
    assert unchecked("sleep-break-even", server("--port", sidecar=UNKNOWN)) == [f"{words}[0].args"]
    assert unchecked("sleep-break-even", server(FLAG, annotations=UNKNOWN)) == ["metadata.annotations"]
    assert found("sleep-break-even", server(FLAG, annotations=UNKNOWN, of_pod={KEY: "60"})) == []
    assert found("sleep-break-even", server(FLAG, annotations={KEY: 60})) == [
        f"metadata.annotations.{KEY}: expected a text, found a number"
    ]
    assert found("sleep-break-even", server(8000)) == [f"{words}[1].args[0]: expected a text, found a number"]
    assert found("sleep-break-even", server(sidecar=FLAG)) == [f"{words}[0].args: expected a list, found a text"]


WORDS = st.sampled_from([UNKNOWN, "", "0", "1", "10m", "Never", "WhenEmpty", "In", "spot", FLAG])
TREES = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 9) | st.floats(allow_nan=False) | WORDS | st.text(max_size=5),
    lambda below: st.lists(below, max_size=3) | st.dictionaries(WORDS | st.text(max_size=5), below, max_size=3),
    max_leaves=8,
)
PLACES = [
    ("limits",),
    ("disruption",),
    *(("disruption", key) for key in ("budgets", "consolidateAfter", "consolidationPolicy")),
    ("template",),
    *(("template", "spec", key) for key in ("requirements", "taints", "nodeClassRef")),
]


@settings(max_examples=150, deadline=None)
@given(tree=TREES, place=st.sampled_from(PLACES))
def test_TST_03_no_tree_ends_in_a_traceback(tree, place):
    odd = pool("|".join(place), tree)
    same = [resource(kind, tree, "odd") for kind in sorted(set().union(*(it.kinds for it in money.RULES)))]
    stack = [odd, *same, node_class(tree), endpoint(routeTableIds=tree), nat(connectivityType=tree), server(tree)]
    for rule in money.RULES:
        for finding in judged(rule, stack, None, stack):
            assert isinstance(finding, (Violation, Unchecked))
