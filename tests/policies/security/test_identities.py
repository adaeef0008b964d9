"""Rights that are wider than what they are for."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.policies.conftest import UNKNOWN, found, resource, unchecked

POLICY = "aws:iam/policy:Policy"
ROLE = "aws:iam/role:Role"
ATTACHMENT = "aws:iam/rolePolicyAttachment:RolePolicyAttachment"
PODS = {"Service": "pods.eks.amazonaws.com"}
OIDC = "arn:aws:iam::123456789012:oidc-provider/token.actions.githubusercontent.com"


def document(*statements: dict[str, Any]) -> str:
    return json.dumps({"Version": "2012-10-17", "Statement": list(statements)})


def allow(action: Any, **more: Any) -> dict[str, Any]:
    return {"Effect": "Allow", "Action": action, "Resource": "*", **more}


def policy(*statements: dict[str, Any], kind: str = POLICY, name: str = "it"):
    return resource(kind, {"policy": document(*statements)}, name)


def role(*statements: dict[str, Any], **props: Any):
    return resource(ROLE, {"assumeRolePolicy": document(*statements), "name": "it", **props})


def test_TST_03_a_document_is_read_as_text_and_as_a_mapping():
    wide = {"Version": "2012-10-17", "Statement": allow("s3:*")}
    says = ["statement 0: allows s3:*; name the actions"]
    assert found("iam-wildcards", resource(POLICY, {"policy": json.dumps(wide)})) == says
    assert found("iam-wildcards", resource(POLICY, {"policy": wide})) == says


@pytest.mark.parametrize("action", ["*", "s3:*", "S3:**", "*:*", "s3", "iam:?*"])
def test_all_actions_of_a_service_are_refused(action):
    assert found("iam-wildcards", policy(allow(["sqs:SendMessage", action], Sid="A"))) == [
        f"statement A: allows {action}; name the actions"
    ]


def test_actions_that_are_named_pass():
    mine = policy(allow("ec2:Describe*"), allow(["s3:GetObject"]), {"Effect": "Deny", "Action": "*", "Resource": "*"})
    assert found("iam-wildcards", mine) == []


def test_all_but_some_is_refused():
    assert found("iam-wildcards", policy({"Effect": "Allow", "NotAction": "iam:*", "Resource": "*"})) == [
        "statement 0: allows all but what NotAction names; name what it allows"
    ]
    open_to = policy({"Effect": "Allow", "NotPrincipal": {"AWS": "x"}, "Action": "s3:GetObject"})
    assert found("iam-wildcards", open_to) == [
        "statement 0: allows all but what NotPrincipal names; name what it allows"
    ]


@pytest.mark.parametrize("everybody", ["*", {"AWS": "*"}, {"AWS": ["arn:aws:iam::1:root", "*"]}])
@pytest.mark.parametrize(
    "condition",
    [
        {},
        {"Bool": {"aws:SecureTransport": True}},
        {"StringLike": {"aws:PrincipalArn": "*"}},
        {"NumericGreaterThan": {"s3:TlsVersion": 1.2}},
    ],
)
def test_everybody_is_refused_also_behind_a_condition_that_does_not_say_who(everybody, condition):
    mine = policy(
        allow("s3:GetObject", Principal=everybody, Condition=condition), kind="aws:s3/bucketPolicy:BucketPolicy"
    )
    assert found("iam-wildcards", mine) == [
        "statement 0: allows everybody, without a condition that says who; name who"
    ]


def test_everybody_behind_a_condition_that_says_who_passes():
    condition = {"StringEquals": {"aws:PrincipalOrgID": "o-1"}, "Bool": {"aws:SecureTransport": "true"}}
    mine = policy(allow("s3:GetObject", Principal="*", Condition=condition), kind="aws:s3/bucketPolicy:BucketPolicy")
    assert found("iam-wildcards", mine) == []


def test_a_key_may_be_handed_to_its_account_as_KMS_itself_does():
    own = {"AWS": "arn:aws:iam::123456789012:root"}
    assert found("iam-wildcards", policy(allow("kms:*", Principal=own), kind="aws:kms/key:Key")) == []
    one = {"AWS": "arn:aws:iam::123456789012:role/app"}
    assert found("iam-wildcards", policy(allow("kms:*", Principal=one), kind="aws:kms/keyPolicy:KeyPolicy")) == [
        "statement 0: allows kms:*; name the actions"
    ]


def test_the_policy_of_an_endpoint_gives_no_right_so_its_wildcards_pass():
    assert found("iam-wildcards", policy(allow("*", Principal="*"), kind="aws:ec2/vpcEndpoint:VpcEndpoint")) == []


def test_configuration_excepts_resources_and_actions():
    mine = policy(allow(["s3:*", "sqs:*"]), name="admin-break-glass")
    assert found("iam-wildcards", mine, config={"exceptions": ["admin-*"]}) == []
    assert found("iam-wildcards", mine, config={"actions": ["s3:*"]}) == ["statement 0: allows sqs:*; name the actions"]


def test_an_unknown_document_hides_none_of_the_others_of_a_role():
    mine = resource(
        ROLE,
        {
            "assumeRolePolicy": UNKNOWN,
            "inlinePolicies": [
                {"name": "a", "policy": UNKNOWN},
                {"name": "b", "policy": document(allow("s3:*"))},
                {"policy": "["},
                UNKNOWN,
            ],
        },
    )
    assert found("iam-wildcards", mine) == [
        "inline policy b, statement 0: allows s3:*; name the actions",
        "inlinePolicies[2].policy: no JSON: Expecting value: line 1 column 2 (char 1)",
    ]
    assert unchecked("iam-wildcards", mine) == ["assumeRolePolicy", "inlinePolicies[0].policy", "inlinePolicies[3]"]


def test_an_unknown_statement_hides_none_of_the_others():
    mine = resource(POLICY, {"policy": {"Statement": [UNKNOWN, allow(UNKNOWN), allow("s3:*")]}})
    assert found("iam-wildcards", mine) == ["statement 2: allows s3:*; name the actions"]
    assert unchecked("iam-wildcards", mine) == ["policy.Statement[0]", "policy.Statement[1].Action"]


@pytest.mark.parametrize(
    ("props", "says"),
    [
        ({}, []),
        ({"policy": None}, []),
        ({"policy": "{}"}, []),
        ({"policy": 3}, ["policy: expected a text, found a number"]),
        ({"policy": "[]"}, ["policy: expected a mapping, found a list"]),
        ({"policy": {"Statement": "x"}}, ["policy.Statement: expected a list, found a text"]),
        ({"policy": {"Statement": [True]}}, ["policy.Statement[0]: expected a mapping, found true or false"]),
        ({"policy": {"Statement": {}}}, ["policy.Statement.Effect: expected Allow or Deny, found ''"]),
        (
            {"policy": {"Statement": {"Effect": "Allow", "Action": 3}}},
            ["policy.Statement.Action: expected a list, found a number"],
        ),
    ],
)
def test_missing_and_mistyped(props, says):
    assert found("iam-wildcards", resource(POLICY, props)) == says


@pytest.mark.parametrize("name", ["AdministratorAccess", "PowerUserAccess", "AmazonS3FullAccess", "job/FullAccess"])
def test_policies_of_AWS_that_allow_all_are_refused(name):
    arn = f"arn:aws-cn:iam::aws:policy/{name}"
    short = name.rpartition("/")[2]
    says = [f"attaches {short}, which allows all actions of its services; write a policy that names the actions"]
    assert found("managed-wildcards", resource(ATTACHMENT, {"policyArn": arn})) == says
    assert found("managed-wildcards", resource(ROLE, {"managedPolicyArns": [UNKNOWN, arn]})) == says
    assert unchecked("managed-wildcards", resource(ROLE, {"managedPolicyArns": [UNKNOWN, arn]})) == [
        "managedPolicyArns[0]"
    ]
    assert found("managed-wildcards", resource(ATTACHMENT, {"policyArn": arn}), config={"exceptions": [short]}) == []


def test_other_policies_pass():
    own = "arn:aws:iam::123456789012:policy/AppFullAccess"
    assert found("managed-wildcards", resource(ATTACHMENT, {"policyArn": own})) == []
    eks = "arn:aws:iam::aws:policy/AmazonEKSWorkerNodePolicy"
    assert found("managed-wildcards", resource(ROLE, {"managedPolicyArns": [eks]})) == []
    assert found("managed-wildcards", resource(ROLE, {}), resource(ATTACHMENT, {})) == []


def test_a_policy_of_the_program_is_known_though_its_ARN_is_not():
    given = {"policyArn": UNKNOWN}
    assert unchecked("managed-wildcards", resource(ATTACHMENT, given)) == ["policyArn"]
    mine = resource(ATTACHMENT, given, sources={"policyArn": [policy(allow("s3:GetObject"))]})
    assert unchecked("managed-wildcards", mine) == []
    assert found("managed-wildcards", resource(ATTACHMENT, {"policyArn": 3})) == [
        "policyArn: expected a text, found a number"
    ]


@pytest.mark.parametrize(
    ("actions", "missing"),
    [
        (["sts:AssumeRole"], "sts:TagSession"),
        ("sts:TagSession", "sts:AssumeRole"),
        ("sts:GetCallerIdentity", "sts:AssumeRole and sts:TagSession"),
    ],
)
def test_a_role_for_pods_needs_both_actions(actions, missing):
    assert found("pod-identity-trust", role(allow(actions, Principal=PODS, Sid="P"))) == [
        f"statement P: pods.eks.amazonaws.com needs {missing} too; add it"
    ]


def test_both_actions_may_stand_in_two_statements_or_under_a_wildcard():
    two = allow("sts:AssumeRole", Principal=PODS), allow("STS:tagsession", Principal=PODS)
    assert found("pod-identity-trust", role(*two)) == []
    assert found("pod-identity-trust", role(allow("sts:*", Principal=PODS))) == []
    assert found("pod-identity-trust", role(allow("sts:AssumeRole", Principal={"Service": "ec2.amazonaws.com"}))) == []
    assert found("pod-identity-trust", resource(ROLE, {})) == []


def test_an_unknown_trust_is_not_checked_yet():
    for rule in ("pod-identity-trust", "federated-trust"):
        assert unchecked(rule, resource(ROLE, {"assumeRolePolicy": UNKNOWN})) == ["assumeRolePolicy"]
        assert found(rule, resource(ROLE, {"assumeRolePolicy": True})) == [
            "assumeRolePolicy: expected a text, found true or false"
        ]


@pytest.mark.parametrize(
    "condition",
    [
        {},
        {"StringEquals": {"token.actions.githubusercontent.com:aud": "sts.amazonaws.com"}},
        {"StringLike": {"token.actions.githubusercontent.com:sub": "*"}},
        {"StringNotEquals": {"token.actions.githubusercontent.com:sub": "repo:org/repo"}},
        {"StringEquals": {"sts.amazonaws.com:sub": "repo:org/repo"}},
    ],
)
def test_a_role_for_tokens_says_whose(condition):
    mine = role(allow("sts:AssumeRoleWithWebIdentity", Principal={"Federated": OIDC}, Condition=condition))
    assert found("federated-trust", mine) == [
        "statement 0: takes every token of token.actions.githubusercontent.com; add a condition StringEquals on"
        " token.actions.githubusercontent.com:sub"
    ]


@pytest.mark.parametrize("operator", ["StringEquals", "StringLike", "ForAnyValue:StringLike"])
def test_a_subject_is_enough(operator):
    condition = {operator: {"token.actions.githubusercontent.com:SUB": ["repo:org/repo:*"]}}
    mine = role(allow("sts:AssumeRoleWithWebIdentity", Principal={"Federated": OIDC}, Condition=condition))
    assert found("federated-trust", mine) == []


def test_TST_03_rights_given_in_two_ways_are_refused():
    mine = role(allow("sts:AssumeRole", Principal=PODS), managedPolicyArns=UNKNOWN, inlinePolicies=[])
    by_source = resource(ATTACHMENT, {"role": UNKNOWN}, "reader", sources={"role": [mine]})
    by_name = resource("aws:iam/rolePolicy:RolePolicy", {"role": "it"}, "writer")
    assert found("rights-twice", mine, by_source, by_name) == [
        "managedPolicyArns is all that it may have, so each up takes reader away or back; use one of both",
        "inlinePolicies is all that it may have, so each up takes writer away or back; use one of both",
    ]


def test_rights_given_in_one_way_pass_and_what_is_not_known_is_said():
    mine = role(managedPolicyArns=[])
    another = resource(ATTACHMENT, {"role": "another"})
    unknown = resource(ATTACHMENT, {"role": UNKNOWN}, "unknown")
    broken = resource(ATTACHMENT, {"role": 3}, "broken")
    assert found("rights-twice", mine, another, unknown, broken) == ["broken: role: expected a text, found a number"]
    assert unchecked("rights-twice", mine, another, unknown) == ["role of unknown"]
    assert found("rights-twice", role(), resource(ATTACHMENT, {"role": "it"})) == []
