"""The list of rules, and the pack's configuration for our stacks."""

import re

import pytest
from pulumi_policy import EnforcementLevel, ResourceValidationPolicy, StackValidationPolicy

from guardrails.crossguard import NOTED, policies
from guardrails.pack import RULES
from tests.harness import ROOT
from tests.policies import configured, table

IDS = [rule.id for rule in RULES]


def test_no_two_rules_have_one_id():
    assert len(set(IDS)) == len(IDS) >= 30


@pytest.mark.parametrize("rule", RULES, ids=IDS)
def test_a_rule_says_what_must_hold_why_and_where_that_is_from(rule):
    assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)+", rule.id)
    assert rule.says.endswith(".")
    assert rule.why.endswith(".")
    assert rule.source
    assert not rule.source.endswith(".")
    assert rule.kinds


def test_each_rule_is_a_policy_of_its_level_with_its_configuration():
    noted, *made = policies(RULES)
    assert noted.name == NOTED
    assert [it.name for it in made] == IDS
    for rule, its in zip(RULES, made, strict=True):
        kind = ResourceValidationPolicy if rule.over == "resource" else StackValidationPolicy
        assert isinstance(its, kind)
        assert its.enforcement_level == EnforcementLevel(rule.level)
        assert set(its.config_schema.properties if its.config_schema else {}) == set(rule.config)


def test_the_pack_knows_nothing_of_the_program():
    """Another team runs it over its own."""
    sources = "\n".join(path.read_text() for path in (ROOT / "policies").rglob("*.py"))
    imported = set(re.findall(r"^(?:from|import) ([a-z_]+)", sources, re.MULTILINE))
    assert not imported & {"infra", "serving", "ops", "settings", "outputs", "checks", "rehearsal", "tests"}


def test_its_configuration_is_made_of_the_stack_files():
    assert configured.FILE.read_text() == configured.text(), f"run {configured.COMMAND}"


def test_each_key_of_its_configuration_is_a_rules():
    known = {rule.id: set(rule.config) for rule in RULES}
    for rule, its in configured.configured().items():
        assert set(its) <= known[rule]


def test_the_docs_have_every_rule():
    assert table.FILE.read_text() == table.document(), f"run {table.COMMAND}"
