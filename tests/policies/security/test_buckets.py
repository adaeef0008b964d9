"""Buckets that everybody reads, or nobody can mend."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.policies.conftest import UNKNOWN, found, resource, unchecked

BUCKET = "aws:s3/bucket:Bucket"
ACL = "aws:s3/bucketAcl:BucketAcl"
POLICY = "aws:s3/bucketPolicy:BucketPolicy"
ALL = {"blockPublicAcls": True, "blockPublicPolicy": True, "ignorePublicAcls": True, "restrictPublicBuckets": True}
NONE = "no BucketPublicAccessBlock of this stack is for it; add one with all four flags"


def bucket(name: Any = "weights", **props: Any):
    return resource(BUCKET, {"bucket": name, **props}, "models")


def block(of: Any = None, bucket: Any = UNKNOWN, name: str = "private", **flags: Any):
    sources = {"bucket": [of]} if of else {}
    props = {"bucket": bucket, **ALL, **flags}
    return resource("aws:s3/bucketPublicAccessBlock:BucketPublicAccessBlock", props, name, sources=sources)


def denial(action: Any = "s3:*", on: Any = "*", **more: Any):
    its = {"Effect": "Deny", "Principal": "*", "Action": action, "Resource": on, "Sid": "D", **more}
    return resource(POLICY, {"policy": json.dumps({"Statement": [its]})})


def test_a_bucket_with_all_four_flags_passes_whichever_way_it_is_named():
    mine = bucket(UNKNOWN)
    assert found("bucket-public", mine, block(mine)) == []
    assert found("bucket-public", bucket(), block(bucket="weights")) == []
    account = resource("aws:s3/accountPublicAccessBlock:AccountPublicAccessBlock", ALL)
    assert found("bucket-public", bucket(), account) == []


def test_a_bucket_that_nothing_keeps_shut_is_refused():
    another = resource(BUCKET, {"bucket": UNKNOWN}, "another")
    half = resource("aws:s3/accountPublicAccessBlock:AccountPublicAccessBlock", {**ALL, "blockPublicAcls": None})
    for others in ((), (block(another),), (block(bucket="another"),), (half,)):
        assert found("bucket-public", bucket(), *others) == [NONE]
    assert found("bucket-public", bucket(UNKNOWN), block(another)) == [NONE]


def test_flags_that_are_off_or_not_given_are_named():
    mine = bucket()
    assert found("bucket-public", mine, block(mine, blockPublicAcls=False, ignorePublicAcls=None)) == [
        "private leaves blockPublicAcls, ignorePublicAcls off; set all four"
    ]


def test_two_names_that_are_not_known_are_not_the_same():
    assert found("bucket-public", bucket(UNKNOWN), block()) == []
    assert unchecked("bucket-public", bucket(UNKNOWN), block()) == ["bucket of private"]


def test_an_unknown_flag_hides_none_of_the_others():
    mine = bucket(acl="public-read")
    shut = block(mine, blockPublicAcls=UNKNOWN, ignorePublicAcls="true", restrictPublicBuckets=False)
    assert found("bucket-public", mine, shut) == [
        "its acl is public-read; take it away",
        "private leaves restrictPublicBuckets off; set all four",
        "private: ignorePublicAcls: expected true or false, found a text",
    ]
    assert unchecked("bucket-public", mine, shut) == ["blockPublicAcls of private"]


@pytest.mark.parametrize("acl", ["public-read", "public-read-write", "authenticated-read"])
def test_lists_of_access_for_everybody_are_refused(acl):
    assert found("bucket-public", resource(ACL, {"acl": acl})) == [f"its acl is {acl}; take it away"]
    assert found("bucket-public", resource(ACL, {"acl": "private"}), resource(ACL, {}), resource(ACL, {})) == []


def test_grants_to_everybody_are_refused():
    everybody = "http://acs.amazonaws.com/groups/global/AllUsers"
    grants = [UNKNOWN, {"grantee": {"id": "x"}}, {"grantee": {"uri": everybody}}]
    mine = resource(ACL, {"accessControlPolicy": {"grants": grants}})
    assert found("bucket-public", mine) == [
        "accessControlPolicy.grants[2].grantee.uri: grants to AllUsers; take it away"
    ]
    assert unchecked("bucket-public", mine) == ["accessControlPolicy.grants[0]"]
    old = bucket(grants=[{"uri": everybody}])
    assert found("bucket-public", old, block(old)) == ["grants[0].uri: grants to AllUsers; take it away"]


def test_configuration_excepts_a_bucket_that_is_meant_to_be_public():
    assert found("bucket-public", bucket(acl="public-read"), config={"exceptions": ["mod*"]}) == []


@pytest.mark.parametrize(
    ("props", "says"),
    [
        ({}, [NONE]),
        ({"acl": None, "grants": None}, [NONE]),
        (
            {"acl": 3, "grants": "x"},
            [NONE, "acl: expected a text, found a number", "grants: expected a list, found a text"],
        ),
    ],
)
def test_missing_and_mistyped(props, says):
    assert found("bucket-public", resource(BUCKET, props)) == says


@pytest.mark.parametrize(
    ("action", "names"),
    [
        ("s3:*", "s3:GetBucketPolicy, s3:PutBucketPolicy, s3:DeleteBucketPolicy"),
        (["s3:GetObject", "S3:putbucketpolicy"], "s3:PutBucketPolicy"),
        ("*", "s3:GetBucketPolicy, s3:PutBucketPolicy, s3:DeleteBucketPolicy"),
    ],
)
@pytest.mark.parametrize("on", ["*", "arn:aws:s3:::weights", ["arn:aws:s3:::weights/*", "arn:aws:s3:::weights"]])
@pytest.mark.parametrize("who", ["*", {"AWS": "*"}, {"AWS": "arn:aws:iam::123456789012:root"}])
def test_a_denial_that_holds_for_the_deployer_is_refused(action, names, on, who):
    condition = {"StringNotEquals": {"aws:SourceVpce": "vpce-1"}, "Bool": {"aws:PrincipalIsAWSService": False}}
    assert found("bucket-lockout", denial(action, on, Principal=who, Condition=condition)) == [
        f"statement D: denies {names} to everybody, the deployer too; deny actions on objects alone, or exempt a role"
        " by aws:PrincipalArn"
    ]


@pytest.mark.parametrize(
    "its",
    [
        denial(Condition={"Bool": {"aws:SecureTransport": "false"}}),
        denial(Condition={"NumericLessThan": {"s3:TlsVersion": 1.2}}),
        denial(Condition={"ArnNotLike": {"aws:PrincipalArn": ["arn:aws:iam::1:role/deployer"]}}),
        denial(Condition={"StringNotEquals": {"aws:PrincipalOrgID": "o-1"}}),
        denial("s3:PutObject"),
        denial(on=["arn:aws:s3:::weights/*"]),
        denial(Resource=None, NotResource="arn:aws:s3:::weights"),
        denial(Action=None, NotAction=["s3:GetBucket*", "s3:*BucketPolicy"]),
        denial(Principal={"AWS": "arn:aws:iam::1:role/intern"}),
        denial(Effect="Allow"),
        resource(POLICY, {}),
        resource(BUCKET, {"policy": None}),
    ],
)
def test_a_denial_that_leaves_somebody_passes(its):
    assert found("bucket-lockout", its) == []


def test_denials_of_all_but_some_are_read():
    says = "denies s3:GetBucketPolicy, s3:DeleteBucketPolicy to everybody"
    assert says in found("bucket-lockout", denial(Action=None, NotAction="s3:PutBucketPolicy"))[0]
    assert found("bucket-lockout", denial(Resource=None, NotResource="arn:aws:s3:::weights/public/*")) != []


def test_TST_03_a_policy_of_a_bucket_as_text_as_mapping_and_as_unknown():
    text = denial().props.raw["policy"]
    assert found("bucket-lockout", resource(POLICY, {"policy": text})) != []
    assert found("bucket-lockout", resource(BUCKET, {"policy": json.loads(text)})) != []
    assert unchecked("bucket-lockout", resource(POLICY, {"policy": UNKNOWN})) == ["policy"]
    assert unchecked("bucket-lockout", resource(POLICY, {"policy": text.replace("s3:*", UNKNOWN)})) == ["policy"]
    assert found("bucket-lockout", resource(POLICY, {"policy": "no"})) == [
        "policy: no JSON: Expecting value: line 1 column 1 (char 0)"
    ]
    assert found("bucket-lockout", resource(POLICY, {"policy": ["x"]})) == ["policy: expected a text, found a list"]
