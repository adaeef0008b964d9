"""Bucket, registry, secrets, keys, queue and rules: each by its name, where it has one that is decided."""

from ops.rights.table.row import Row

_BUCKET = ("s3:ListBucket", "s3:GetBucketLocation")

ROWS: dict[str, Row] = {
    "aws:s3/bucket:Bucket": Row(
        on="bucket",
        look=(
            *_BUCKET,
            *("s3:GetBucketAcl", "s3:GetBucketCORS", "s3:GetBucketWebsite", "s3:GetBucketVersioning"),
            *("s3:GetAccelerateConfiguration", "s3:GetBucketRequestPayment", "s3:GetBucketLogging"),
            *("s3:GetLifecycleConfiguration", "s3:GetReplicationConfiguration", "s3:GetEncryptionConfiguration"),
            *("s3:GetBucketObjectLockConfiguration", "s3:GetBucketTagging", "s3:GetBucketPolicy"),
            "s3:ListTagsForResource",
        ),
        make=("s3:CreateBucket",),
        change=("s3:DeleteBucket", "s3:PutBucketTagging", "s3:TagResource", "s3:UntagResource"),
    ),
    "aws:s3/bucketPolicy:BucketPolicy": Row(
        on="bucket",
        look=(*_BUCKET, "s3:GetBucketPolicy"),
        change=("s3:PutBucketPolicy", "s3:DeleteBucketPolicy"),
    ),
    "aws:s3/bucketVersioning:BucketVersioning": Row(
        on="bucket", look=(*_BUCKET, "s3:GetBucketVersioning"), change=("s3:PutBucketVersioning",)
    ),
    "aws:s3/bucketOwnershipControls:BucketOwnershipControls": Row(
        on="bucket", look=(*_BUCKET, "s3:GetBucketOwnershipControls"), change=("s3:PutBucketOwnershipControls",)
    ),
    "aws:s3/bucketPublicAccessBlock:BucketPublicAccessBlock": Row(
        on="bucket", look=(*_BUCKET, "s3:GetBucketPublicAccessBlock"), change=("s3:PutBucketPublicAccessBlock",)
    ),
    "aws:s3/bucketLifecycleConfiguration:BucketLifecycleConfiguration": Row(
        on="bucket", look=(*_BUCKET, "s3:GetLifecycleConfiguration"), change=("s3:PutLifecycleConfiguration",)
    ),
    "aws:s3/bucketServerSideEncryptionConfiguration:BucketServerSideEncryptionConfiguration": Row(
        on="bucket", look=(*_BUCKET, "s3:GetEncryptionConfiguration"), change=("s3:PutEncryptionConfiguration",)
    ),
    "aws:ecr/repository:Repository": Row(
        on="repositories",
        look=("ecr:DescribeRepositories", "ecr:ListTagsForResource"),
        make=("ecr:CreateRepository",),
        change=(
            *("ecr:DeleteRepository", "ecr:PutImageScanningConfiguration", "ecr:PutImageTagMutability"),
            *("ecr:TagResource", "ecr:UntagResource"),
        ),
    ),
    "aws:ecr/lifecyclePolicy:LifecyclePolicy": Row(
        on="repositories",
        look=("ecr:GetLifecyclePolicy",),
        change=("ecr:PutLifecyclePolicy", "ecr:DeleteLifecyclePolicy"),
    ),
    # Rules and templates are the registry's, and have no ARN: region and account are all that can be said.
    "aws:ecr/pullThroughCacheRule:PullThroughCacheRule": Row(
        on="registry",
        look=("ecr:DescribePullThroughCacheRules",),
        change=(
            *("ecr:CreatePullThroughCacheRule", "ecr:UpdatePullThroughCacheRule"),
            "ecr:DeletePullThroughCacheRule",
        ),
    ),
    "aws:ecr/repositoryCreationTemplate:RepositoryCreationTemplate": Row(
        on="registry",
        look=("ecr:DescribeRepositoryCreationTemplates",),
        change=(
            *("ecr:CreateRepositoryCreationTemplate", "ecr:UpdateRepositoryCreationTemplate"),
            "ecr:DeleteRepositoryCreationTemplate",
        ),
    ),
    "aws:secretsmanager/secret:Secret": Row(
        on="secrets",
        look=("secretsmanager:DescribeSecret", "secretsmanager:GetResourcePolicy"),
        make=("secretsmanager:CreateSecret",),
        change=(
            *("secretsmanager:DeleteSecret", "secretsmanager:UpdateSecret"),
            *("secretsmanager:TagResource", "secretsmanager:UntagResource"),
        ),
    ),
    "aws:secretsmanager/secretVersion:SecretVersion": Row(
        on="secrets",
        # a refresh compares the secret's value
        look=("secretsmanager:DescribeSecret", "secretsmanager:GetSecretValue"),
        change=("secretsmanager:PutSecretValue", "secretsmanager:UpdateSecretVersionStage"),
    ),
    "aws:kms/key:Key": Row(
        on="keys",
        look=(*("kms:DescribeKey", "kms:GetKeyPolicy", "kms:GetKeyRotationStatus", "kms:ListResourceTags"),),
        make=("kms:CreateKey",),
        # EKS encrypts its secrets by a grant that it makes with the rights of whoever makes the cluster
        change=(
            *("kms:EnableKeyRotation", "kms:DisableKeyRotation", "kms:PutKeyPolicy", "kms:UpdateKeyDescription"),
            *("kms:ScheduleKeyDeletion", "kms:CreateGrant", "kms:TagResource", "kms:UntagResource"),
        ),
    ),
    "aws:sqs/queue:Queue": Row(
        on="queue",
        look=("sqs:GetQueueAttributes", "sqs:GetQueueUrl", "sqs:ListQueueTags"),
        make=("sqs:CreateQueue",),
        change=("sqs:DeleteQueue", "sqs:SetQueueAttributes", "sqs:TagQueue", "sqs:UntagQueue"),
    ),
    "aws:sqs/queuePolicy:QueuePolicy": Row(
        on="queue", look=("sqs:GetQueueAttributes",), change=("sqs:SetQueueAttributes",)
    ),
    "aws:cloudwatch/eventRule:EventRule": Row(
        on="rules",
        look=("events:DescribeRule", "events:ListTagsForResource"),
        make=("events:PutRule",),
        change=(
            "events:DeleteRule",
            "events:EnableRule",
            "events:DisableRule",
            "events:TagResource",
            "events:UntagResource",
        ),
    ),
    "aws:cloudwatch/eventTarget:EventTarget": Row(
        on="rules",
        look=("events:ListTargetsByRule",),
        change=("events:PutTargets", "events:RemoveTargets"),
    ),
}
