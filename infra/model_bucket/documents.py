"""The bucket's policy: a pure function of plain values, for the stack and for the owner of an existing bucket.

Of requests over TLS it only ever denies the writing of data: a denied `s3:GetBucketPolicy` or `s3:PutBucketPolicy`
would lock the deployer out of its own bucket, and root alone could repair it (cloudposse/terraform-aws-s3-bucket#269).
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass

from infra.iam import Statement, deny_plaintext, read_prefixes
from infra.model_bucket.prefixes import CACHES, DATASETS, MANIFEST, MODELS
from infra.model_bucket.settings import ModelBucketSettings
from infra.naming import Place, onboarding_path, publisher_path

LARGEST_POLICY = 20 * 1024
"""Bytes of a bucket policy (S3 user guide)."""

_WRITES = ("s3:PutObject", "s3:ReplicateObject")
"""Every action that brings content into an object; parts of an upload and copies are PutObject too."""


@dataclass(frozen=True, kw_only=True)
class Owner:
    """Whose bucket it is: the stack's place, cluster and deployer."""

    place: Place
    cluster: str
    """The cluster's name: roles of its publishers and its onboarding have IAM paths made from it."""
    deployer: str
    """ARN of a role or user; it is exempt from what keeps others off, so that it can repair what a program did."""


def policy(settings: ModelBucketSettings, owner: Owner) -> str:
    """Return the bucket's policy as JSON. It changes with the stack file alone, never with a role that is made."""
    return json.dumps({"Version": "2012-10-17", "Statement": list(statements(settings, owner))})


def statements(settings: ModelBucketSettings, owner: Owner) -> tuple[Statement, ...]:
    """Return the statements of the bucket's policy.

    `aws:PrincipalArn` of a role's session is the ARN of the role itself, path included: it is what policies that let
    in roles of IAM Identity Center match (`role/aws-reserved/sso.amazonaws.com/*`). A request without a principal has
    no such key, and a negated operator takes that for another one: denied.
    """
    place = owner.place
    arn = place.partition.arn("s3", settings.name)

    def roles(path: str) -> str:
        return place.partition.arn("iam", f"role{path}*", account=place.account)

    return (
        deny_plaintext("s3", [arn, f"{arn}/*"]),
        {
            # The first manifest of a key stays: who restores a cache gets what was checked, or nothing. Multipart
            # uploads carry the header at their end alone, and only that creates an object. It rules out CopyObject.
            "Sid": "ManifestsOnce",
            "Effect": "Deny",
            "Principal": "*",
            "Action": "s3:PutObject",
            "Resource": f"{arn}/{CACHES}*/{MANIFEST}",
            "Condition": {"Null": {"s3:if-none-match": "true"}, "Bool": {"s3:ObjectCreationOperation": "true"}},
        },
        # caches hold pickles: who writes one runs code on each node that restores it
        _written_by("CachesByPublishers", f"{arn}/{CACHES}*", [owner.deployer, roles(publisher_path(owner.cluster))]),
        _written_by(
            "ModelsByOnboarding",
            f"{arn}/{MODELS}*",
            [owner.deployer, roles(onboarding_path(owner.cluster)), *settings.writers],
        ),
        *_readable(arn, settings.readers),
    )


def _written_by(sid: str, objects: str, writers: Sequence[str]) -> Statement:
    """Refuse writing to everybody else, whatever rights an identity has."""
    return {
        "Sid": sid,
        "Effect": "Deny",
        "Principal": "*",
        "Action": list(_WRITES),
        "Resource": objects,
        "Condition": {"ArnNotLike": {"aws:PrincipalArn": list(writers)}},
    }


def _readable(arn: str, readers: Sequence[str]) -> tuple[Statement, ...]:
    if not readers:
        return ()
    return tuple(
        {**statement, "Sid": f"Readers{statement['Sid']}", "Principal": {"AWS": list(readers)}}
        for statement in read_prefixes(arn, MODELS, DATASETS)
    )
