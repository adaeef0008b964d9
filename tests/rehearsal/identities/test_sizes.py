"""Each limit of AWS: what fits is silent, one more is named with its sum."""

import json
from typing import Any

import pytest

from rehearsal.identities.extract import extract
from rehearsal.identities.sizes import characters, too_big
from tests.rehearsal.identities.scene import Resource, allow, attached, document, managed, resource, role, stack, trust


def padded(size: int, *, inline: int = 0) -> dict[str, Any]:
    """A statement whose document has so many characters without white space."""
    statement = allow("S", "s3:GetObject", "arn:aws:s3:::b/")
    missing = size - inline - characters(document(statement))
    return {**statement, "Resource": statement["Resource"] + "x" * missing}


def said(*more: list[Resource], without: str = "") -> list[str]:
    return [str(it) for it in too_big(extract(stack(*more, without=without)))]


def trusting(size: int) -> dict[str, Any]:
    statement = trust("pods.eks.amazonaws.com")
    return {**statement, "Sid": "T" + "x" * (size - characters(document(statement)))}


def policy_of(token: str, field: str, size: int) -> list[Resource]:
    statement = {**allow("S", "x:*", "*"), "Principal": "*"}
    missing = size - len(document(statement))
    return [resource(token, "big", {field: document({**statement, "Sid": "S" + "x" * missing})})]


def test_white_space_is_not_counted() -> None:
    assert characters(json.dumps({"a": [1, 2]}, indent=8)) == len('{"a":[1,2]}')


def test_nothing_is_said_of_what_fits() -> None:
    assert said() == []


@pytest.mark.parametrize(
    ("fits", "does_not", "what"),
    [
        (
            managed("nodes", "m", padded(6144)),
            managed("nodes", "m", padded(6145)),
            "nodes, nodes-m: characters: 6145 > 6144",
        ),
        (
            role("r", padded(10240)),
            role("r", padded(10241)),
            "r: characters of inline policies (10241): 10241 > 10240",
        ),
        (
            role("r", trusting=trusting(2048)),
            role("r", trusting=trusting(2049)),
            "r: characters of trust policy: 2049 > 2048",
        ),
        (
            role("r") + attached("r", [f"P{i}" for i in range(10)]),
            role("r") + attached("r", [f"P{i}" for i in range(11)]),
            "r: managed policies: 11 > 10",
        ),
        (role("r" * 56), role("r" * 57), f"{'r' * 57}: characters of name: 65 > 64"),
        (
            role("r", path="/" + "p" * 510 + "/"),
            role("r", path="/" + "p" * 511 + "/"),
            "r: characters of path: 513 > 512",
        ),
    ],
    ids=["managed", "inline", "trust", "attached", "name", "path"],
)
def test_one_more_than_a_role_may_have_is_named_with_its_sum(
    fits: list[Resource], does_not: list[Resource], what: str
) -> None:
    assert (said(fits), said(does_not)) == ([], [what])


def test_inline_policies_are_added_up() -> None:
    second = resource("aws:iam/rolePolicy:RolePolicy", "r2", {"role": "r-1234567", "policy": document(padded(4000))})
    assert said([*role("r", padded(6240)), second]) == []
    assert said([*role("r", padded(6241)), second]) == ["r: characters of inline policies (6241 + 4000): 10241 > 10240"]


@pytest.mark.parametrize(
    ("token", "field", "kind", "limit"),
    [
        ("aws:s3/bucketPolicy:BucketPolicy", "policy", "bucket", 20480),
        ("aws:sqs/queuePolicy:QueuePolicy", "policy", "queue", 8192),
        ("aws:kms/key:Key", "policy", "key", 32768),
        ("aws:ec2/vpcEndpoint:VpcEndpoint", "policy", "endpoint", 20480),
        ("aws:ecr/repositoryPolicy:RepositoryPolicy", "policy", "repository", 10240),
        ("aws:ecr/registryPolicy:RegistryPolicy", "policy", "registry", 10240),
        ("aws:ecr/repositoryCreationTemplate:RepositoryCreationTemplate", "repositoryPolicy", "template", 10240),
    ],
)
def test_the_policy_of_a_resource_has_the_limit_of_its_service(token: str, field: str, kind: str, limit: int) -> None:
    assert said(policy_of(token, field, limit), without="models-policy") == []
    assert said(policy_of(token, field, limit + 1), without="models-policy") == [
        f"big: bytes of {kind} policy: {limit + 1} > {limit}"
    ]
