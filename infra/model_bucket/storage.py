"""How the bucket of a stack keeps objects: with which key, and for how long. Pure functions of plain values."""

from collections.abc import Sequence

from pulumi_aws import s3

from infra.model_bucket.settings import ModelBucketSettings

UNFINISHED_DAYS = 7
"""Days that the parts of an upload stay when it does not end: an onboarding lasts hours."""

_EVERYTHING: s3.BucketLifecycleConfigurationRuleFilterArgsDict = {"prefix": ""}
"""Without a filter the provider warns, and an empty one has shown up as drift (terraform-provider-aws#41460)."""


def lifecycle(settings: ModelBucketSettings) -> Sequence[s3.BucketLifecycleConfigurationRuleArgsDict]:
    """Return the rules of what goes by itself. No object does that is the newest of its key.

    Nothing moves to another storage class, so the provider's `transition_default_minimum_object_size` is left to it:
    the values of S3 before and after September 2024 differ for transitions alone (terraform-provider-aws#41073).
    """
    unfinished: s3.BucketLifecycleConfigurationRuleArgsDict = {
        "id": "unfinished-uploads",
        "status": "Enabled",
        "filter": _EVERYTHING,
        "abort_incomplete_multipart_upload": {"days_after_initiation": UNFINISHED_DAYS},
    }
    if settings.old_version_days is None:
        return [unfinished]
    old: s3.BucketLifecycleConfigurationRuleArgsDict = {
        "id": "old-versions",
        "status": "Enabled",
        "filter": _EVERYTHING,
        "noncurrent_version_expiration": {"noncurrent_days": settings.old_version_days},
        # a marker that hides no version any more slows listings down, and nothing else
        "expiration": {"expired_object_delete_marker": True},
    }
    return [unfinished, old]


def encryption(settings: ModelBucketSettings) -> Sequence[s3.BucketServerSideEncryptionConfigurationRuleArgsDict]:
    """Return how objects are encrypted whose writer says nothing."""
    if settings.key is None:
        # S3's own key: readers and multipart writers need no KMS rights (IAM-03)
        return [{"apply_server_side_encryption_by_default": {"sse_algorithm": "AES256"}}]
    return [
        {
            "apply_server_side_encryption_by_default": {"sse_algorithm": "aws:kms", "kms_master_key_id": settings.key},
            # one request to KMS for many objects, instead of one for each of a model's shards and ranges
            "bucket_key_enabled": True,
        }
    ]
