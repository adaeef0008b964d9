"""Ways out that are shut."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.policies.conftest import UNKNOWN, found, resource, unchecked

ENDPOINT = "aws:ec2/vpcEndpoint:VpcEndpoint"
SEPARATE = "aws:ec2/vpcEndpointPolicy:VpcEndpointPolicy"
SERVICE = "com.amazonaws.eu-west-1.s3"
OWN = {"Effect": "Allow", "Principal": "*", "Action": "s3:*", "Resource": "arn:aws:s3:::weights/*"}
LAYERS = {**OWN, "Action": "s3:GetObject", "Resource": "arn:aws:s3:::prod-eu-west-1-starport-layer-bucket/*"}
SAYS = (
    "policy: lets nobody read ECR's layers, so every pull is 403; allow s3:GetObject on"
    " arn:aws:s3:::prod-<region>-starport-layer-bucket/* to everybody, whatever the account"
)
SPARE = "denies ECR's layers, so every pull is 403; spare arn:aws:s3:::prod-<region>-starport-layer-bucket/*"


def endpoint(*statements: Any, **props: Any):
    text = json.dumps({"Statement": list(statements)})
    return resource(ENDPOINT, {"serviceName": SERVICE, "policy": text, **props})


@pytest.mark.parametrize(
    "statements",
    [
        [OWN, LAYERS],
        [{**OWN, "Resource": "*"}],
        [{**OWN, "Resource": "arn:aws:s3:::prod-*"}],
        [{**OWN, "Resource": None, "NotResource": "arn:aws:s3:::secret/*"}],
        [{**LAYERS, "Condition": {"StringEquals": {"aws:SourceVpc": "vpc-1"}}}],
        [LAYERS, {**OWN, "Effect": "Deny"}],
        [LAYERS, {**LAYERS, "Effect": "Deny", "Condition": {"Bool": {"aws:SecureTransport": False}}}],
    ],
)
def test_a_policy_that_lets_layers_through_passes(statements):
    assert found("s3-endpoint-policy", endpoint(*statements)) == []


@pytest.mark.parametrize(
    "statement",
    [
        OWN,
        {**LAYERS, "Action": "s3:PutObject"},
        {**LAYERS, "Principal": {"AWS": "arn:aws:iam::1:root"}},
        {**LAYERS, "Resource": "arn:aws:s3:::prod-eu-west-1-starport-layer-bucket"},
        {**OWN, "Resource": "*", "Condition": {"StringEquals": {"aws:PrincipalAccount": "1"}}},
        {**OWN, "Resource": "*", "Condition": {"StringEquals": {"aws:ResourceAccount": "1"}}},
    ],
)
def test_a_policy_that_lets_layers_nowhere_through_is_refused(statement):
    assert found("s3-endpoint-policy", endpoint(statement)) == [SAYS]


def test_a_denial_of_what_is_not_ones_own_is_refused():
    condition = {"StringNotEquals": {"aws:ResourceAccount": "1"}}
    denial = {"Sid": "Own", "Effect": "Deny", "Principal": "*", "Action": "*", "Resource": "*", "Condition": condition}
    assert found("s3-endpoint-policy", endpoint(LAYERS, denial)) == [f"statement Own: {SPARE}"]
    spared = {"Effect": "Deny", "Principal": "*", "Action": "s3:Get*", "NotResource": "arn:aws:s3:::weights/*"}
    assert found("s3-endpoint-policy", endpoint(LAYERS, spared)) == [f"statement 1: {SPARE}"]


def test_other_endpoints_pass():
    assert found("s3-endpoint-policy", endpoint(OWN, serviceName="com.amazonaws.eu-west-1.ecr.api")) == []
    assert found("s3-endpoint-policy", endpoint(OWN, vpcEndpointType="Interface")) == []
    for props in ({}, {"serviceName": SERVICE}, {"serviceName": SERVICE, "policy": None}):
        assert found("s3-endpoint-policy", resource(ENDPOINT, props)) == []


def test_a_policy_of_its_own_is_looked_at_with_its_endpoint():
    policy = {"policy": json.dumps({"Statement": OWN})}
    its = resource(ENDPOINT, {"serviceName": SERVICE}, "s3")
    assert found("s3-endpoint-policy", its, resource(SEPARATE, policy, sources={"vpcEndpointId": [its]})) == [SAYS]
    another = resource(ENDPOINT, {"serviceName": "com.amazonaws.eu-west-1.sqs"}, "sqs")
    assert found("s3-endpoint-policy", resource(SEPARATE, policy, sources={"vpcEndpointId": [another]})) == []
    assert found("s3-endpoint-policy", resource(SEPARATE, policy)) == [SAYS]


def test_an_unknown_statement_may_be_the_one_that_lets_layers_through():
    its = endpoint(policy={"Statement": [OWN, UNKNOWN]})
    assert found("s3-endpoint-policy", its) == []
    assert unchecked("s3-endpoint-policy", its) == ["policy.Statement[1]"]
    assert unchecked("s3-endpoint-policy", endpoint(policy=UNKNOWN)) == ["policy"]
    assert unchecked("s3-endpoint-policy", endpoint(OWN, serviceName=UNKNOWN)) == ["serviceName"]


def test_mistyped():
    assert found("s3-endpoint-policy", endpoint(policy="no")) == [
        "policy: no JSON: Expecting value: line 1 column 1 (char 0)",
    ]
    assert found("s3-endpoint-policy", endpoint(OWN, serviceName=3)) == ["serviceName: expected a text, found a number"]
