"""Temporary."""

import pulumi

from infra.iam import read_prefixes


def publish(arn, model, prefixes):
    return (
        *read_prefixes(arn, model),
        {
            "Sid": "Publish",
            "Effect": "Allow",
            "Action": ["s3:PutObject", "s3:AbortMultipartUpload"],
            "Resource": [pulumi.Output.concat(arn, "/", p, "*") for p in prefixes],
        },
    )


def onboard(arn):
    return (
        *read_prefixes(arn, "models/"),
        {
            "Sid": "Write",
            "Effect": "Allow",
            "Action": ["s3:PutObject"],
            "Resource": [pulumi.Output.concat(arn, "/models/*")],
        },
    )
