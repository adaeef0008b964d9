"""Calls that the engine made on the offline cloud, in their order."""

from collections.abc import Sequence

from rehearsal.providers.journal import Call

VANISH = {
    "aws:s3/bucketPolicy:BucketPolicy",
    "aws:s3/bucketPublicAccessBlock:BucketPublicAccessBlock",
    "aws:s3/bucketOwnershipControls:BucketOwnershipControls",
    "aws:s3/bucketVersioning:BucketVersioning",
    "aws:s3/bucketServerSideEncryptionConfiguration:BucketServerSideEncryptionConfiguration",
    "aws:s3/bucketLifecycleConfiguration:BucketLifecycleConfiguration",
    "kubernetes:core/v1:ConfigMap",
}
"""What the engine never deletes by itself, and what in the real world goes with its bucket or its namespace.

Guards, so that a bucket never stands open (infra/model_bucket/model_bucket.py); programs, for Jobs that run
(serving/programs.py). The offline cloud keeps them."""


def positions(calls: Sequence[Call], *prefixes: str) -> list[int]:
    """Where the calls on these kinds stand: at least one, or a comparison would prove nothing."""
    found = [index for index, call in enumerate(calls) if call.type.startswith(prefixes)]
    assert found, f"no call on {prefixes}"
    return found
