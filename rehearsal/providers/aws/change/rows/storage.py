"""Rules for buckets and registries. Sources in brackets: `table.py`."""

from __future__ import annotations

from rehearsal.providers.aws.change.rules import Rule

# s3/bucket_versioning.go [tf], the others alike [memory]
_OF_BUCKET = Rule(replaces=("bucket", "expectedBucketOwner"))

RULES: dict[str, Rule] = {
    "aws:s3/bucket:Bucket": Rule(
        schema="AWS::S3::Bucket",
        names={"BucketName": "bucket", "BucketNamePrefix": "bucketPrefix"},
        replaces=("objectLockEnabled",),  # memory
        keeps=("objectLockEnabled",),  # memory
        defaults={"forceDestroy": False},  # tf
    ),
    "aws:s3/bucketPolicy:BucketPolicy": Rule(schema="AWS::S3::BucketPolicy"),
    "aws:s3/bucketVersioning:BucketVersioning": _OF_BUCKET,
    "aws:s3/bucketOwnershipControls:BucketOwnershipControls": Rule(replaces=("bucket",)),  # memory
    "aws:s3/bucketPublicAccessBlock:BucketPublicAccessBlock": Rule(
        replaces=("bucket",),  # tf
        defaults=dict.fromkeys(
            ("blockPublicAcls", "blockPublicPolicy", "ignorePublicAcls", "restrictPublicBuckets"), False
        ),  # tf
    ),
    "aws:s3/bucketLifecycleConfiguration:BucketLifecycleConfiguration": _OF_BUCKET,
    "aws:s3/bucketServerSideEncryptionConfiguration:BucketServerSideEncryptionConfiguration": _OF_BUCKET,
    "aws:ecr/repository:Repository": Rule(
        schema="AWS::ECR::Repository",
        names={
            "RepositoryName": "name",
            "EncryptionConfiguration": "encryptionConfigurations",
            "EncryptionConfiguration/EncryptionType": "encryptionConfigurations.encryptionType",
            "EncryptionConfiguration/KmsKey": "encryptionConfigurations.kmsKey",
        },
        keeps=("encryptionConfigurations", "imageScanningConfiguration"),  # tf: SuppressMissingOptional...
        defaults={"forceDelete": False, "imageTagMutability": "MUTABLE"},  # tf
    ),
    "aws:ecr/lifecyclePolicy:LifecyclePolicy": Rule(replaces=("policy", "repository")),  # tf
    "aws:ecr/pullThroughCacheRule:PullThroughCacheRule": Rule(
        schema="AWS::ECR::PullThroughCacheRule",
        names={"UpstreamRegistry": None},
        updates=("credentialArn", "customRoleArn"),  # UpdatePullThroughCacheRule [tf]
    ),
    "aws:ecr/repositoryCreationTemplate:RepositoryCreationTemplate": Rule(
        schema="AWS::ECR::RepositoryCreationTemplate",
        sets=("appliedFors",),  # tf
        keeps=("encryptionConfigurations",),  # tf
        defaults={"imageTagMutability": "MUTABLE"},  # tf
    ),
}
