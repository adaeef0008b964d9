"""Judging: what is unknown of one part hides nothing of the next, and a wrong type is a violation."""

from guardrails.rule import Around, Rule, Unchecked, Violation, judged
from tests.policies.conftest import UNKNOWN, resource


def rule(**more):
    def check(part, around: Around):
        if part["bad"].flag():
            yield f"{part['name'].text()} is bad ({around.config['word']})"

    given = {
        "id": "no-bad",
        "says": "None is bad.",
        "why": "It is bad.",
        "source": "judgement",
        "kinds": frozenset({"a:b:C"}),
        "parts": lambda of: of.props["parts"].items(),
        "check": check,
        "config": {"word": "own"},
    }
    return Rule(**(given | more))


IT = resource(
    "a:b:C", {"parts": [{"name": "x", "bad": UNKNOWN}, {"name": "y", "bad": True}, {"name": "z", "bad": "no"}]}
)


def test_each_part_is_looked_at_by_itself():
    assert list(judged(rule(), [IT])) == [
        Unchecked(rule="no-bad", urn=IT.urn, path="parts[0].bad"),
        Violation(rule="no-bad", urn=IT.urn, says="y is bad (own)"),
        Violation(rule="no-bad", urn=IT.urn, says="parts[2].bad: expected true or false, found a text"),
    ]


def test_the_users_configuration_stands_over_the_rules_own():
    (found,) = judged(rule(), [resource("a:b:C", {"parts": [{"name": "y", "bad": True}]})], {"word": "other"})
    assert isinstance(found, Violation)
    assert found.says == "y is bad (other)"


def test_parts_that_are_not_known_are_told_once():
    of = resource("a:b:C", {"parts": UNKNOWN})
    assert list(judged(rule(), [of])) == [Unchecked(rule="no-bad", urn=of.urn, path="parts")]


def test_parts_of_a_wrong_type_are_a_violation():
    of = resource("a:b:C", {"parts": "x"})
    assert list(judged(rule(), [of])) == [
        Violation(rule="no-bad", urn=of.urn, says="parts: expected a list, found a text")
    ]


def test_other_kinds_are_not_looked_at():
    assert list(judged(rule(), [resource("a:b:D", {"parts": [{"bad": True}]})])) == []


def test_the_stack_of_a_resource_is_in_its_urn():
    assert resource("a:b:C", {}, stack="prod").stack == "prod"
