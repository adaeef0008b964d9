"""What AWS would answer: identities and the bucket's policy together, before an evaluator that is not ours."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from itertools import product
from pathlib import Path
from string import Template
from typing import Any

import pytest
import yaml

from tests.infra.evaluator import Answer, Request, evaluate
from tests.infra.model_bucket import scene
from tests.infra.model_bucket.scene import REGIONS

TABLE: Mapping[str, list[dict[str, Any]]] = yaml.safe_load(Path(__file__).with_name("requests.yaml").read_text())
FIELDS = {"action", "at", "context", "by", "against"}
KEY_POLICY = [
    {"Sid": "IamDecides", "Effect": "Allow", "Principal": {"AWS": scene.ACCOUNT}, "Action": "kms:*", "Resource": "*"}
]
"""What KMS gives a new key: the account's IAM decides over it."""


@dataclass(frozen=True)
class Row:
    who: str
    request: Request
    verdict: str
    sid: str
    """Of the statement that decides; empty when none does, `any` when it does not matter which."""

    def __str__(self) -> str:
        return f"{self.who}: {self.request.action} {self.request.resource} {dict(self.request.context)}"


def listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def rows(region: str) -> Iterator[Row]:
    at = scene.place(region)
    bucket = scene.bucket_arn(at)
    put_in = {"key": scene.key(at), "other_key": at.arn("kms", "key/other"), "other_bucket": f"{bucket}-2"}
    for who, somebody in scene.everybody(at, scene.key(at)).items():
        for entry in TABLE[who]:
            assert set(entry) <= FIELDS, entry
            for action, on in product(listed(entry["action"]), listed(entry["at"])):
                elsewhere = on.startswith("$")
                given = {"aws:SecureTransport": "true", "aws:PrincipalArn": somebody.arn, **entry.get("context", {})}
                request = Request(
                    principal=somebody.session,
                    action=action,
                    resource=Template(on).substitute(put_in) if elsewhere else f"{bucket}/{on}".rstrip("/"),
                    account=scene.ACCOUNT,
                    context={key: value for key, value in given.items() if value is not None},
                    policies=[who] if somebody.rights else [],
                    resource_policy=None if "bucket" in on else "key" if elsewhere else "bucket",
                )
                verdict = (
                    "Allowed" if "by" in entry else "ExplicitlyDenied" if "against" in entry else "ImplicitlyDenied"
                )
                yield Row(who, request, verdict, entry.get("by") or entry.get("against", ""))


@cache
def answers() -> Mapping[str, list[tuple[Row, Answer]]]:
    """All regions in one process."""
    documents, asked, requests = {}, {}, []
    for region in REGIONS:
        at = scene.place(region)
        policies = {who: somebody.rights for who, somebody in scene.everybody(at, scene.key(at)).items()}
        policies |= {"bucket": scene.bucket_policy(at), "key": KEY_POLICY}
        named = {name: f"{name} {region}" for name in policies}
        documents |= {
            named[name]: {"Version": "2012-10-17", "Statement": list(policy)} for name, policy in policies.items()
        }
        asked[region] = list(rows(region))
        requests += [row.request.renamed(named) for row in asked[region]]
    given = iter(evaluate(documents, requests))
    return {region: [(row, next(given)) for row in of] for region, of in asked.items()}


@pytest.mark.parametrize("region", REGIONS)
def test_IAM_05_each_request_is_answered_as_the_table_says(region: str) -> None:
    wrong = [
        f"{row}: {answer.verdict} {answer.problem}, expected {row.verdict}"
        for row, answer in answers()[region]
        if answer.verdict != row.verdict
    ]
    assert wrong == []


def test_the_statement_that_decides_is_the_one_that_is_there_for_it() -> None:
    """A second one that allows it too would hide that the first one does not."""
    wrong = []
    for row, answer in answers()[REGIONS[0]]:
        if row.sid not in {"", "any"}:
            others = set(answer.statements) - {row.sid, "Everything", "IamDecides"}
            if row.sid not in answer.statements or (row.verdict == "Allowed" and others):
                wrong.append(f"{row}: {answer.statements}, expected {row.sid}")
    assert wrong == []


def test_no_condition_key_of_the_table_is_one_that_aws_would_not_look_at() -> None:
    """A key that an action does not take is dropped: then a request is denied for a reason that nobody sees."""
    assert {key: str(row) for of in answers().values() for row, answer in of for key in answer.ignored} == {}


def test_every_statement_is_asked_for_and_refused() -> None:
    at = scene.place()
    ours = scene.identities(at, scene.key(at))
    granted = {
        (who, statement["Sid"], action)
        for who, rights in ours.items()
        for statement in rights
        for action in listed(statement["Action"])
    }
    asked = [row for row, _ in answers()[REGIONS[0]]]
    assert {(row.who, row.sid, row.request.action) for row in asked if row.who in ours and row.sid} >= granted
    refused = {(row.who, row.request.action) for row in asked if row.verdict != "Allowed"}
    assert {(who, action) for who, _, action in granted} <= refused
    assert {(row.sid, row.verdict) for row in asked} >= {
        (statement["Sid"], "ExplicitlyDenied" if statement["Effect"] == "Deny" else "Allowed")
        for statement in scene.bucket_policy(at)
    }


def test_the_table_is_not_cut_short() -> None:
    assert [len(of) >= 180 for of in answers().values()] == [True] * len(REGIONS)
    assert set(TABLE) == set(scene.everybody(scene.place(), None))
