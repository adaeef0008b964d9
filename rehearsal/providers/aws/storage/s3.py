"""Buckets (`aws.s3`)."""

from __future__ import annotations

from rehearsal.providers.aws.common import partition, region
from rehearsal.providers.change.unique import Unique
from rehearsal.providers.naming import AutoName
from rehearsal.providers.package import Birth, Instance, Kind, Made
from rehearsal.providers.values import Properties


def _bucket(birth: Birth) -> Made:
    name, where = birth.inputs["bucket"], region(birth)
    return Made(
        id=name,
        outputs={
            # Bucket ARNs carry neither account nor region.
            "arn": f"arn:{partition(region(birth))}:s3:::{name}",
            "bucketDomainName": f"{name}.s3.amazonaws.com",
            "bucketRegionalDomainName": f"{name}.s3.{where}.amazonaws.com",
            "bucketRegion": where,
        },
    )


def _found(instance: Instance, args: Properties) -> Properties:
    """A bucket that is there already, in the region where it is looked for: nothing here knows others' buckets."""
    name, where = args["bucket"], args.get("region") or instance.config["region"]
    return {
        "id": name,
        "bucket": name,
        "arn": f"arn:{partition(instance.config['region'])}:s3:::{name}",
        "bucketDomainName": f"{name}.s3.amazonaws.com",
        "bucketRegionalDomainName": f"{name}.s3.{where}.amazonaws.com",
        "bucketRegion": where,
        "region": where,
    }


def _of_bucket(birth: Birth) -> Made:
    return Made(id=birth.inputs["bucket"])


# Put... calls overwrite what is there.
_FACET = Kind(make=_of_bucket)

KINDS = {
    "aws:s3/bucket:Bucket": Kind(
        make=_bucket,
        tagged=True,
        auto_name=AutoName(property="bucket", limit=63, lower=True),
        unique=(Unique(error="BucketAlreadyOwnedByYou", same=("bucket",), worldwide=True),),
    ),
    "aws:s3/bucketPolicy:BucketPolicy": _FACET,
    "aws:s3/bucketVersioning:BucketVersioning": _FACET,
    "aws:s3/bucketOwnershipControls:BucketOwnershipControls": _FACET,
    "aws:s3/bucketPublicAccessBlock:BucketPublicAccessBlock": _FACET,
    "aws:s3/bucketLifecycleConfiguration:BucketLifecycleConfiguration": _FACET,
    "aws:s3/bucketServerSideEncryptionConfiguration:BucketServerSideEncryptionConfiguration": (_FACET),
}

INVOKES = {"aws:s3/getBucket:getBucket": _found}
"""All its arguments are plain, so the real provider answers in a preview too."""
