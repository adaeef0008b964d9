"""What the example's role may do, beside the bucket's policy, before an evaluator that is not ours."""

import json
from typing import Any

import pytest

from model_reader import rights, trust
from needs import Needs
from outputs import Pods
from tests.infra.evaluator import Request, evaluate
from tests.infra.linter import findings
from tests.infra.model_bucket import scene

KEY_POLICY = {"Sid": "IamDecides", "Effect": "Allow", "Principal": {"AWS": scene.ACCOUNT}}
KEY_POLICY |= {"Action": "kms:*", "Resource": "*"}


def asked(region: str, *, key: bool = True) -> Needs:
    at = scene.place(region)
    return Needs(
        url="http://m/v1",
        model="m",
        namespace="inference",
        pods=Pods(labels={}, port=8000),
        account=scene.ACCOUNT,
        cluster_name=scene.CLUSTER,
        bucket=scene.settings(at).name,
        bucket_arn=scene.bucket_arn(at),
        bucket_key=scene.key(at) if key else None,
        model_prefix=scene.MODEL,
        s3_addresses=[],
    )


ALLOWED = [("s3:GetObject", "models/m/r1/tokenizer.json"), ("kms:Decrypt", "key")]
DENIED = [
    # other files of the model, other models and revisions, and whatever begins alike
    ("s3:GetObject", "models/m/r1/model-00001-of-00002.safetensors"),
    ("s3:GetObject", "models/m/r1/tokenizer.json.bak"),
    ("s3:GetObject", "models/m/r2/tokenizer.json"),
    ("s3:GetObject", "models/other/r1/tokenizer.json"),
    ("s3:GetObject", "vllm-cache/e/g/m/0123/manifest.json"),
    ("s3:GetObject", "datasets/d/x"),
    ("s3:ListBucket", ""),
    ("s3:GetBucketPolicy", ""),
    ("s3:PutObject", "models/m/r1/tokenizer.json"),
    ("s3:PutObject", "vllm-cache/e/g/m/0123/a.tar"),
    ("s3:PutObject", "datasets/d/x"),
    ("s3:DeleteObject", "models/m/r1/tokenizer.json"),
    ("kms:GenerateDataKey", "key"),
    ("kms:Encrypt", "key"),
    ("kms:Decrypt", "another key"),
]


@pytest.mark.parametrize("region", scene.REGIONS)
def test_it_reads_one_file_and_writes_nothing(region: str) -> None:
    at = scene.place(region)
    needs = asked(region)
    keys = {"key": scene.key(at), "another key": at.arn("kms", "key/other")}
    policies = {
        "role": rights(needs),
        "bucket": {"Version": "2012-10-17", "Statement": list(scene.bucket_policy(at))},
        "key": {"Version": "2012-10-17", "Statement": [KEY_POLICY]},
    }
    arn = scene.role(at, "reader-1")
    requests = [
        Request(
            principal=scene.Somebody(arn, ()).session,
            action=action,
            resource=keys.get(on) or f"{needs.bucket_arn}/{on}".rstrip("/"),
            account=scene.ACCOUNT,
            context={"aws:SecureTransport": "true", "aws:PrincipalArn": arn},
            policies=["role"],
            resource_policy="key" if on in keys else "bucket",
        )
        for action, on in (*ALLOWED, *DENIED)
    ]
    verdicts = [answer.verdict == "Allowed" for answer in evaluate(policies, requests)]
    assert [row for row, allowed in zip((*ALLOWED, *DENIED), verdicts, strict=True) if allowed] == ALLOWED


def test_IAM_03_without_a_customer_key_there_is_no_statement_about_keys() -> None:
    assert "kms" not in json.dumps(rights(asked("us-west-2", key=False)))
    assert findings("reader", rights(asked("us-west-2"))["Statement"]) == set()


def tags(**changed: str) -> dict[str, Any]:
    told = {"eks-cluster-name": "c1", "kubernetes-namespace": "app-team", "kubernetes-service-account": "client"}
    return {f"aws:RequestTag/{key}": value for key, value in {**told, **changed}.items()}


@pytest.mark.parametrize(
    ("action", "context", "allowed"),
    [
        ("sts:AssumeRole", tags(), True),
        ("sts:TagSession", tags(), True),
        ("sts:AssumeRole", tags(**{"eks-cluster-name": "c2"}), False),
        ("sts:AssumeRole", tags(**{"kubernetes-namespace": "app-team-2"}), False),
        ("sts:AssumeRole", tags(**{"kubernetes-service-account": "default"}), False),
        ("sts:AssumeRole", {}, False),
    ],
)
def test_IAM_01_pods_of_one_service_account_of_one_cluster_take_the_role(
    action: str, context: dict[str, Any], allowed: bool
) -> None:
    at = scene.place()
    (answer,) = evaluate(
        {"trust": trust("c1", "app-team", "client")},
        [
            Request(
                principal="pods.eks.amazonaws.com",
                action=action,
                resource=scene.role(at, "reader-1"),
                account=scene.ACCOUNT,
                context=context,
                policies=[],
                resource_policy="trust",
            )
        ],
    )
    assert (answer.verdict == "Allowed") is allowed, answer
