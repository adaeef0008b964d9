"""Ways out that are shut."""

from __future__ import annotations

from collections.abc import Iterator
from fnmatch import fnmatchcase

from guardrails.documents import OF_ENDPOINTS, Statement, statements
from guardrails.reading import Gathering
from guardrails.rule import Around, Rule, whole
from guardrails.value import Value

ENDPOINT = "aws:ec2/vpcEndpoint:VpcEndpoint"
_LAYERS = "arn:aws:s3:::prod-<region>-starport-layer-bucket/*"
_OF_ACCOUNTS = ("aws:principal", "aws:resource", "aws:userid", "aws:source", "s3:resourceaccount")
"""Condition keys that know one's own: the layers are AWS's, and AWS signs for them."""


def _narrow(_: Value, around: Around) -> Iterator[str]:
    if not _is_of_s3(around) or around.resource.props["policy"].is_missing:
        return
    gathering = Gathering()
    lets = False
    for statement in statements(around.resource):
        with gathering.reading():
            if _keeps_layers(statement):
                yield f"{statement.title}: denies ECR's layers, so every pull is 403; spare {_LAYERS}"
            lets = lets or _lets_layers(statement)
    if not lets and not gathering.missed:
        yield (
            "policy: lets nobody read ECR's layers, so every pull is 403; allow s3:GetObject on"
            f" {_LAYERS} to everybody, whatever the account"
        )
    yield from gathering.ended()


def _is_of_s3(around: Around) -> bool:
    if around.resource.kind == ENDPOINT:
        return _is_gateway_of_s3(around.resource.props)
    if endpoints := [it for it in around.resource.sources.get("vpcEndpointId", ()) if it.kind == ENDPOINT]:
        return any(_is_gateway_of_s3(it.props) for it in endpoints)
    # an endpoint of another stack: what it is shows in what its policy speaks of
    return any(it.lower().startswith("s3:") for each in statements(around.resource) for it in each.actions)


def _is_gateway_of_s3(props: Value) -> bool:
    return (props["vpcEndpointType"].text() or "Gateway") == "Gateway" and props["serviceName"].text().endswith(".s3")


def _lets_layers(statement: Statement) -> bool:
    return statement.allows and _is_about_layers(statement) and not _knows_accounts(statement)


def _keeps_layers(statement: Statement) -> bool:
    if statement.allows or not _is_about_layers(statement):
        return False
    return not statement.conditions or _knows_accounts(statement)


def _is_about_layers(statement: Statement) -> bool:
    if "*" not in statement.principals or not statement.covers("s3:GetObject"):
        return False
    spared = statement.value["NotResource"]
    if not spared.is_missing:
        return not any(_names_layers(it.text()) for it in spared.one_or_more())
    return any(_names_layers(it) for it in statement.resources)


def _names_layers(pattern: str) -> bool:
    if "starport-layer-bucket" in pattern:
        return pattern.rpartition("starport-layer-bucket")[2].startswith(("/", "*"))
    layer = "s3:::prod-us-east-1-starport-layer-bucket/layer"
    return any(fnmatchcase(f"arn:{it}:{layer}", pattern) for it in ("aws", "aws-cn", "aws-us-gov"))


def _knows_accounts(statement: Statement) -> bool:
    keys = {key.lower() for _, key in statement.conditions}
    return any(key.startswith(_OF_ACCOUNTS) and key not in {"aws:sourcevpc", "aws:sourcevpce"} for key in keys)


RULES = (
    Rule(
        id="s3-endpoint-policy",
        says="A policy of the S3 endpoint lets image layers through.",
        why="ECR serves layers from a bucket of its own, and every pull is then 403.",
        source="vpc-cni#917, ecr-user-guide#8 (aws.md 32)",
        kinds=OF_ENDPOINTS,
        parts=whole,
        check=_narrow,
        over="stack",
    ),
)
