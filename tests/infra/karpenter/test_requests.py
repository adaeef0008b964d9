"""What AWS would answer: every statement allows what it is for, and nothing that differs from it in one point."""

from collections.abc import Mapping, Sequence
from functools import cache

import pytest

from infra.iam import Statement
from tests.infra.evaluator import Answer, evaluate
from tests.infra.karpenter import scene
from tests.infra.karpenter.requests import Row, rows
from tests.infra.karpenter.scene import REGION, REGIONS, RELEASES, document, listed, scope

NEWEST = (REGION, RELEASES[-1])
SCENES = [*((REGION, release) for release in RELEASES), *((region, RELEASES[-1]) for region in REGIONS[1:])]
"""Region and release."""


def policies(region: str, release: str) -> Mapping[str, Sequence[Statement]]:
    of = scope(region)
    return {**scene.controller(of, release), "nodes": scene.node(of), "queue": scene.queue(of)}


@cache
def answers() -> Mapping[tuple[str, str], list[tuple[Row, Answer]]]:
    """All scenes in one process, which answers a thousand requests in two seconds."""
    documents, asked, requests = {}, {}, []
    for number, at in enumerate(SCENES):
        named = {name: f"{name} {number}" for name in policies(*at)}
        documents |= {named[name]: document(statements) for name, statements in policies(*at).items()}
        asked[at] = rows(scope(at[0]))
        requests += [row.request.renamed(named) for row in asked[at]]
    given = iter(evaluate(documents, requests))
    return {at: [(row, next(given)) for row in of] for at, of in asked.items()}


def before(release: str, row: Row) -> bool:
    return bool(row.since) and [int(n) for n in release.split(".")] < [int(n) for n in row.since.split(".")]


@pytest.mark.parametrize("at", SCENES, ids="-".join)
def test_IAM_05_each_request_is_answered_as_the_table_says(at: tuple[str, str]) -> None:
    wrong = []
    for row, answer in answers()[at]:
        allowed = row.allowed and not before(at[1], row)
        expected = "Allowed" if allowed else "ExplicitlyDenied" if row.explicit else "ImplicitlyDenied"
        if answer.verdict != expected:
            wrong.append(f"{row.title}: {answer.verdict} {answer.problem}, expected {expected}")
    assert wrong == []


@pytest.mark.parametrize("at", SCENES, ids="-".join)
def test_a_request_is_allowed_by_its_statement_alone(at: tuple[str, str]) -> None:
    """A second one that allows it too would hide that the first one does not."""
    looked_at = [
        (row, answer)
        for row, answer in answers()[at]
        if row.allowed and not row.request.unchecked and not before(at[1], row)
    ]
    assert looked_at
    assert [(row.title, answer.statements) for row, answer in looked_at if answer.statements != [row.statement]] == []


def test_no_condition_key_of_the_table_is_one_that_aws_would_not_look_at() -> None:
    """A key that an action does not take is dropped: then a request is denied for a reason that nobody sees."""
    assert {key: row.title for of in answers().values() for row, answer in of for key in answer.ignored} == {}


def test_every_statement_and_every_action_is_asked_for_and_refused() -> None:
    """What has neither a resource nor a condition cannot be refused to its holder."""
    table = [row for row, _ in answers()[NEWEST]]
    asked = {(row.statement, row.request.action) for row in table if row.allowed}
    refused = {(row.statement, row.request.action) for row in table if not row.allowed}
    granted, unlimited = set(), set()
    for statements in policies(*NEWEST).values():
        for statement in statements:
            if statement["Effect"] == "Deny":
                continue
            pairs = {(statement["Sid"], action) for action in listed(statement["Action"])}
            granted |= pairs
            if listed(statement["Resource"]) == ["*"] and "Condition" not in statement:
                unlimited |= pairs
    assert asked == granted
    assert {action for _, action in unlimited} == {"pricing:GetProducts", "iam:ListInstanceProfiles"}
    assert granted - refused == unlimited


def test_every_resource_of_a_statement_is_asked_for() -> None:
    """A kind of resource that is forgotten fails a launch in the middle, with an encoded message."""
    asked = [row.request for row, _ in answers()[NEWEST] if row.allowed]
    forgotten = [
        (statement["Sid"], pattern)
        for statements in policies(*NEWEST).values()
        for statement in statements
        for pattern in listed(statement["Resource"])
        if not any(
            row.resource.startswith(pattern.removesuffix("*").replace(":*:", f":{scene.ACCOUNT}:")) for row in asked
        )
    ]
    assert forgotten == []


def test_the_table_is_not_cut_short() -> None:
    assert [len(of) >= 200 for of in answers().values()] == [True] * len(SCENES)
