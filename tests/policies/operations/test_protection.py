"""What a destroy may take, what is tagged, and a provider that takes silence for absence."""

from __future__ import annotations

import pytest

from guardrails.operations.protection import (
    BILLED,
    BUCKETS,
    CLUSTER,
    FILE_SYSTEMS,
    KEY,
    PROVIDER,
    REPOSITORY,
    STATEFUL,
)
from guardrails.pools import NODE_CLASS
from tests.policies.conftest import UNKNOWN, found, resource, unchecked

TABLE = "aws:dynamodb/table:Table"
DATABASE = "aws:rds/instance:Instance"
VPC = "aws:ec2/vpc:Vpc"
UNPROTECTED = "nothing keeps a destroy from deleting it; set"


@pytest.mark.parametrize("kind", sorted(STATEFUL))
def test_what_is_protected_passes(kind):
    assert found("protect-stateful", resource(kind, {}, protect=True)) == []


@pytest.mark.parametrize("kind", [*BUCKETS, KEY, *FILE_SYSTEMS])
@pytest.mark.parametrize("props", [{}, {"forceDestroy": False}])
def test_what_holds_state_is_protected(kind, props):
    assert found("protect-stateful", resource(kind, props)) == [f"{UNPROTECTED} the option protect"]


@pytest.mark.parametrize(
    ("kind", "flag"),
    [(CLUSTER, "deletionProtection"), (DATABASE, "deletionProtection"), (TABLE, "deletionProtectionEnabled")],
)
def test_what_aws_refuses_to_delete_is_protected(kind, flag):
    assert found("protect-stateful", resource(kind, {flag: True})) == []
    for props in ({}, {flag: None}, {flag: False}):
        assert found("protect-stateful", resource(kind, props)) == [f"{UNPROTECTED} {flag}"]


def test_no_destroy_takes_what_lies_in_it():
    said = "forceDestroy is true, so a destroy takes what lies in it too; take forceDestroy away"
    assert found("protect-stateful", resource(BUCKETS[0], {"forceDestroy": True}, protect=True)) == [said]
    images = resource(REPOSITORY, {"forceDelete": True})
    assert found("protect-stateful", images) == [said.replace("forceDestroy", "forceDelete")]
    assert found("protect-stateful", resource(REPOSITORY, {})) == []


@pytest.mark.parametrize(
    ("stack", "matters"),
    [("prod", True), ("prod-eu", True), ("team-prod", True), ("production", True), ("dev", False), ("product", False)],
)
def test_stacks_that_matter(stack, matters):
    assert bool(found("protect-stateful", resource(KEY, {}, stack=stack))) is matters
    other = {"stacks": ["dev*"]}
    assert bool(found("protect-stateful", resource(KEY, {}, stack=stack), config=other)) is (stack == "dev")


def test_TST_03_protection():
    unknown = resource(CLUSTER, {"deletionProtection": UNKNOWN})
    assert unchecked("protect-stateful", unknown) == ["deletionProtection"]
    assert unchecked("protect-stateful", resource(CLUSTER, unknown.props.raw, protect=True)) == []
    # what is not known of one hides nothing of the other
    bucket = resource(BUCKETS[0], {"forceDestroy": UNKNOWN})
    assert found("protect-stateful", bucket) == [f"{UNPROTECTED} the option protect"]
    assert unchecked("protect-stateful", bucket) == ["forceDestroy"]
    assert found("protect-stateful", resource(CLUSTER, {"deletionProtection": "yes"})) == [
        "deletionProtection: expected true or false, found a text"
    ]
    assert found("protect-stateful", resource(REPOSITORY, {"forceDelete": 1})) == [
        "forceDelete: expected true or false, found a number"
    ]


TAGS = {"tags": ["team", "environment"]}


@pytest.mark.parametrize("kind", sorted(BILLED - {NODE_CLASS}))
def test_what_is_billed_is_tagged_by_itself_or_by_its_provider(kind):
    assert found("required-tags", resource(kind, {"tagsAll": {"team": "a", "environment": "b"}}), config=TAGS) == []
    both = {"tags": {"team": "a"}, "tagsAll": {"environment": UNKNOWN}}
    assert found("required-tags", resource(kind, both), config=TAGS) == []
    assert found("required-tags", resource(kind, {})) == []
    for props in ({}, {"tags": None, "tagsAll": None}, {"tagsAll": {"Name": "x", "team": "", "environment": None}}):
        assert found("required-tags", resource(kind, props), config=TAGS) == [
            "it has no tag team, environment; add it to the provider's defaultTags"
        ]


@pytest.mark.parametrize("spec", [None, {}, {"tags": None}, {"tags": {"environment": "prod"}}])
def test_nodes_that_karpenter_starts_have_tags_of_their_own(spec):
    missing = "team" if spec and spec.get("tags") else "team, environment"
    props = {"spec": spec, "tagsAll": {"team": "a", "environment": "b"}}
    assert found("required-tags", resource(NODE_CLASS, props), config=TAGS) == [
        f"it has no tag {missing}; add it to spec.tags: the provider's defaultTags do not reach what Karpenter starts"
    ]
    assert (
        found("required-tags", resource(NODE_CLASS, {"spec": {"tags": {"team": "a"}}}), config={"tags": ["team"]}) == []
    )


def test_TST_03_tags():
    assert unchecked("required-tags", resource(VPC, {"tagsAll": UNKNOWN}), config=TAGS) == ["tagsAll"]
    known = {"tags": {"team": "a", "environment": "b"}, "tagsAll": UNKNOWN}
    assert unchecked("required-tags", resource(VPC, known), config=TAGS) == []
    assert unchecked("required-tags", resource(NODE_CLASS, {"spec": UNKNOWN}), config=TAGS) == ["spec"]
    assert found("required-tags", resource(VPC, {"tags": ["team"]}), config=TAGS) == [
        "tags: expected a mapping, found a list"
    ]
    assert found("required-tags", resource(VPC, {"tags": "team"}), config=TAGS) == [
        "tags: expected a mapping, found a text"
    ]


@pytest.mark.parametrize("value", [None, False, "false", ""])
def test_a_provider_that_keeps_what_does_not_answer_passes(value):
    assert found("delete-unreachable", resource(PROVIDER, {"deleteUnreachable": value})) == []
    assert found("delete-unreachable", resource(PROVIDER, {})) == []


@pytest.mark.parametrize("value", [True, "true"])
def test_a_provider_that_drops_what_does_not_answer(value):
    assert found("delete-unreachable", resource(PROVIDER, {"deleteUnreachable": value})) == [
        "deleteUnreachable is true; take it away, and delete by hand what is known to be gone"
    ]


def test_TST_03_unreachable():
    assert unchecked("delete-unreachable", resource(PROVIDER, {"deleteUnreachable": UNKNOWN})) == ["deleteUnreachable"]
    for value, kind in ((1, "a number"), ("maybe", "a text"), ([], "a list")):
        assert found("delete-unreachable", resource(PROVIDER, {"deleteUnreachable": value})) == [
            f"deleteUnreachable: expected true or false, found {kind}"
        ]
