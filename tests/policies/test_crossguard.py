"""Rules as the SDK runs them: what is known is reported, then what is not; rules over a stack see inputs."""

from __future__ import annotations

from typing import Any

import pytest
from pulumi_policy import PolicyResource, PolicyResourceOptions, ResourceValidationArgs, StackValidationArgs
from pulumi_policy.proxy import UnknownValueError, unknown_checking_proxy

from guardrails.crossguard import policies
from guardrails.rule import Around, Rule
from tests.policies.conftest import UNKNOWN

OPTIONS = PolicyResourceOptions(False, [], None, [], None, [], None)
URN = "urn:pulumi:prod::p::a:b:C::it"


def rule(over="resource"):
    def check(part, around: Around):
        if part.flag():
            yield f"{part.path} is bad, {len(around.stack)} in all"

    return Rule(
        id="no-bad",
        says="None is bad.",
        why="It is bad.",
        source="judgement",
        kinds=frozenset({"a:b:C"}),
        parts=lambda of: of.props["parts"].items(),
        check=check,
        over=over,
    )


def arguments(props: dict[str, Any]) -> ResourceValidationArgs:
    return ResourceValidationArgs("a:b:C", unknown_checking_proxy(props), URN, "it", OPTIONS, None, {}, {})


def of_stack(props: dict[str, Any]) -> StackValidationArgs:
    it = PolicyResource("a:b:C", unknown_checking_proxy(props), URN, "it", OPTIONS, None, None, [], {})
    return StackValidationArgs([it], {}, {})


def test_all_that_is_known_is_reported_before_what_is_not():
    _, its = policies([rule()])
    said: list[tuple[str, str | None]] = []
    with pytest.raises(UnknownValueError) as unknown:
        its.validate(arguments({"parts": [UNKNOWN, True, False]}), lambda text, urn=None: said.append((text, urn)))
    assert said == [("parts[1] is bad, 0 in all", None)]
    assert unknown.value.message == "not checked yet, known after up: it parts[0]"


def test_what_is_whole_is_silent():
    _, its = policies([rule()])
    its.validate(arguments({"parts": [False]}), lambda *_: pytest.fail("nothing is wrong"))


def test_a_rule_over_a_stack_sees_the_inputs_that_were_noted_and_names_the_resource():
    noted, its = policies([rule("stack")])
    said: list[tuple[str, str | None]] = []
    noted.validate(arguments({"parts": [True]}), lambda *_: pytest.fail("it only notes"))
    # as in a first preview, where Kubernetes objects have no outputs
    its.validate(of_stack({}), lambda text, urn=None: said.append((text, urn)))
    assert said == [("parts[0] is bad, 1 in all", URN)]


def test_without_the_first_policy_it_sees_what_the_engine_shows():
    _, its = policies([rule("stack")])
    said: list[str] = []
    its.validate(of_stack({"parts": [True]}), lambda text, _=None: said.append(text))
    assert said == ["parts[0] is bad, 1 in all"]


def test_other_kinds_are_passed_over():
    _, its = policies([rule()])
    other = ResourceValidationArgs("a:b:D", unknown_checking_proxy({"parts": [True]}), URN, "it", OPTIONS, None, {}, {})
    its.validate(other, lambda *_: pytest.fail("not its kind"))
