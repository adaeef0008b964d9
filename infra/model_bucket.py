"""Where model weights live: one private, encrypted, versioned, TLS-only bucket."""

from dataclasses import dataclass
from typing import Annotated

import pulumi
from pulumi_aws import s3
from pydantic import AfterValidator, Field, StringConstraints

from infra import iam
from infra.naming import Partition
from infra.section import Flag, Section

MODELS = "models/"
"""Every model lies below `models/<name>/<revision>/`."""


def _not_reserved(name: str) -> str:
    if name.startswith(("sthree-", "amzn-s3-demo-")) or name.endswith("-s3alias"):
        raise ValueError("a form that S3 reserves; expected another name")
    return name


BucketName = Annotated[
    str,
    StringConstraints(pattern=r"^[a-z0-9]+(-[a-z0-9]+)*$", min_length=3, max_length=63),
    AfterValidator(_not_reserved),
]
"""S3's rules without dots (they break TLS host names) and double dashes (reserved)."""


class ModelBucketSettings(Section):
    """`modelBucket`."""

    name: BucketName = Field(
        description="a bucket name of 3 to 63 lower-case letters, digits and single dashes, unique in all of AWS"
    )
    keep_on_destroy: Flag = Field(description="true (the bucket survives `pulumi destroy`) or false")


@dataclass(frozen=True, kw_only=True)
class ModelBucketArgs:
    """Plain values."""

    settings: ModelBucketSettings
    partition: Partition


class ModelBucket(pulumi.ComponentResource):
    """The bucket and its guards."""

    name: pulumi.Output[str]
    arn: pulumi.Output[str]

    def __init__(self, name: str, args: ModelBucketArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("vllm-eks:infra:ModelBucket", name, None, opts)
        # guards are never taken off: a bucket that stays (kept, or full) must not lose them in a destroy
        guard = pulumi.ResourceOptions(parent=self, retain_on_delete=True)

        bucket = s3.Bucket(
            name,
            bucket=args.settings.name,
            # weights take hours to upload again; never `force_destroy`: a full bucket must stop a destroy
            opts=pulumi.ResourceOptions(parent=self, retain_on_delete=args.settings.keep_on_destroy),
        )
        # made from the name, so that a preview shows every policy that names the bucket
        arn = pulumi.Output.concat(args.partition.arn("s3", ""), bucket.bucket)
        s3.BucketOwnershipControls(
            f"{name}-owner", bucket=bucket.id, rule={"object_ownership": "BucketOwnerEnforced"}, opts=guard
        )
        s3.BucketVersioning(
            f"{name}-versions", bucket=bucket.id, versioning_configuration={"status": "Enabled"}, opts=guard
        )
        s3.BucketServerSideEncryptionConfiguration(
            f"{name}-encryption",
            bucket=bucket.id,
            # S3's own key: readers and multipart writers need no KMS rights (IAM-03)
            rules=[{"apply_server_side_encryption_by_default": {"sse_algorithm": "AES256"}}],
            opts=guard,
        )
        private = s3.BucketPublicAccessBlock(
            f"{name}-private",
            bucket=bucket.id,
            block_public_acls=True,
            block_public_policy=True,
            ignore_public_acls=True,
            restrict_public_buckets=True,
            opts=guard,
        )
        s3.BucketPolicy(
            f"{name}-tls",
            bucket=bucket.id,
            policy=iam.document(iam.deny_plaintext("s3", [arn, pulumi.Output.concat(arn, "/*")])),
            # both change the bucket's policy: at once they answer 409 (terraform-aws-s3-bucket#77)
            opts=pulumi.ResourceOptions(parent=self, retain_on_delete=True, depends_on=[private]),
        )

        self.name = bucket.bucket
        self.arn = arn
        self.register_outputs({"name": self.name, "arn": self.arn})
