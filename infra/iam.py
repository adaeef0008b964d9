"""IAM documents: functions of plain values or outputs. Every statement has a `Sid` that says what it is for."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import pulumi
from pydantic import StringConstraints

from infra.naming import Partition
from infra.section import shown

Statement = Mapping[str, Any]

PrincipalArn = Annotated[
    str,
    StringConstraints(
        pattern=r"^arn:aws(-cn|-us-gov)?:iam::[0-9]{12}:(role|user)(/[A-Za-z0-9_+=,.@-]+)+$", max_length=600
    ),
]

KMS_KEY = r"arn:aws(-cn|-us-gov)?:kms:[a-z0-9-]+:[0-9]{12}:key/[a-zA-Z0-9-]+"
"""Pattern of a key's ARN. An alias is none: no statement can grant it."""


def foreign(arn: str, partition: str, region: str) -> str:
    """Return what is wrong with an ARN of another partition than the region's."""
    return f"{shown(arn)} is not in the partition of {region}; expected arn:{partition}:..."


def document(*statements: Statement) -> pulumi.Output[str]:
    """Return the policy text. Values inside may be outputs: nothing is ever formatted into a string beforehand."""
    return pulumi.Output.json_dumps({"Version": "2012-10-17", "Statement": list(statements)})


def ec2_trust(partition: Partition) -> Statement:
    """Trust of a node role. EC2's service principal follows the partition's DNS suffix, EKS's does not."""
    return {
        "Sid": "NodesAssume",
        "Effect": "Allow",
        "Principal": {"Service": f"ec2.{partition.dns_suffix}"},
        "Action": "sts:AssumeRole",
    }


def pod_identity_trust(
    cluster: pulumi.Input[str], namespace: pulumi.Input[str], service_account: pulumi.Input[str]
) -> Statement:
    """Trust of a Pod Identity role: one service account of one cluster.

    Without `sts:TagSession` the denial names neither the action nor the tags (terrapod PR#1500); a condition on the
    association's ARN was seen to break it (IAM-01), so the session's own tags are compared.
    """
    return {
        "Sid": "PodsAssume",
        "Effect": "Allow",
        "Principal": {"Service": "pods.eks.amazonaws.com"},
        "Action": ["sts:AssumeRole", "sts:TagSession"],
        "Condition": {
            "StringEquals": {
                "aws:RequestTag/eks-cluster-name": cluster,
                "aws:RequestTag/kubernetes-namespace": namespace,
                "aws:RequestTag/kubernetes-service-account": service_account,
            }
        },
    }


def below(arn: pulumi.Input[str], path: str) -> pulumi.Input[str]:
    """Return the ARN with more behind it. A plain one stays plain, so that a document of plain values is plain."""
    return arn + path if isinstance(arn, str) else pulumi.Output.concat(arn, path)


def read_prefixes(bucket_arn: pulumi.Input[str], *prefixes: str) -> tuple[Statement, ...]:
    """Statements to list and read everything below the prefixes (each ends with a slash), and nothing else.

    Without ListBucket a missing object answers 403 instead of 404; an un-prefixed listing stays denied.
    """
    listed = sorted({form for prefix in prefixes for form in (prefix, f"{prefix}*")})
    return (
        {
            "Sid": "List",
            "Effect": "Allow",
            "Action": "s3:ListBucket",
            "Resource": bucket_arn,
            "Condition": {"StringLike": {"s3:prefix": listed}},
        },
        {
            "Sid": "Read",
            "Effect": "Allow",
            "Action": "s3:GetObject",
            "Resource": [below(bucket_arn, f"/{prefix}*") for prefix in sorted(prefixes)],
        },
    )


def deny_plaintext(service: str, resource: pulumi.Input[str] | Sequence[pulumi.Input[str]]) -> Statement:
    """Refuse every request of the service without TLS, from everybody."""
    return {
        "Sid": "DenyInsecure",
        "Effect": "Deny",
        "Principal": "*",
        "Action": f"{service}:*",
        "Resource": resource,
        "Condition": {"Bool": {"aws:SecureTransport": "false"}},
    }
