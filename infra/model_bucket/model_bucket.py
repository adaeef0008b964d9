"""Where model weights live: one private, encrypted, versioned, TLS-only bucket, or one that is there already."""

from dataclasses import dataclass

import pulumi
from pulumi_aws import s3

from infra.model_bucket.documents import Owner, policy
from infra.model_bucket.settings import ModelBucketSettings
from infra.model_bucket.storage import encryption, lifecycle
from infra.section import shown


@dataclass(frozen=True, kw_only=True)
class ModelBucketArgs:
    """Plain values: the policy is known before the bucket and the roles that it names exist."""

    settings: ModelBucketSettings
    owner: Owner
    protect: bool
    """`pulumi destroy` stops in its preview, and no change of a setting ever deletes the weights."""


class ModelBucket(pulumi.ComponentResource):
    """The bucket and its guards. An existing one is looked up, and neither made, changed nor deleted."""

    name: pulumi.Output[str]
    arn: pulumi.Output[str]

    def __init__(self, name: str, args: ModelBucketArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("vllm-eks:infra:ModelBucket", name, None, opts)
        place = args.owner.place

        if args.settings.existing:
            self.name = pulumi.Output.from_input(_found(args.settings.name, place.region, self))
        else:
            self.name = self._made(name, args)
        # made from the name, so that a preview shows every policy that names the bucket
        self.arn = pulumi.Output.concat(place.partition.arn("s3", ""), self.name)
        self.register_outputs({"name": self.name, "arn": self.arn})

    def _made(self, name: str, args: ModelBucketArgs) -> pulumi.Output[str]:
        settings = args.settings
        # guards are never taken off: a bucket that stays (kept, or full) must not lose them in a destroy
        guard = pulumi.ResourceOptions(parent=self, retain_on_delete=True)

        bucket = s3.Bucket(
            name,
            bucket=settings.name,
            # weights take hours to upload again; never `force_destroy`: a full bucket must stop a destroy
            opts=pulumi.ResourceOptions(parent=self, retain_on_delete=settings.keep_on_destroy, protect=args.protect),
        )
        s3.BucketOwnershipControls(
            f"{name}-owner", bucket=bucket.id, rule={"object_ownership": "BucketOwnerEnforced"}, opts=guard
        )
        versions = s3.BucketVersioning(
            f"{name}-versions", bucket=bucket.id, versioning_configuration={"status": "Enabled"}, opts=guard
        )
        s3.BucketLifecycleConfiguration(
            f"{name}-lifecycle",
            bucket=bucket.id,
            rules=lifecycle(settings),
            # old versions are something only after it
            opts=pulumi.ResourceOptions(parent=self, retain_on_delete=True, depends_on=[versions]),
        )
        s3.BucketServerSideEncryptionConfiguration(
            f"{name}-encryption", bucket=bucket.id, rules=encryption(settings), opts=guard
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
            f"{name}-policy",
            bucket=bucket.id,
            policy=policy(settings, args.owner),
            opts=pulumi.ResourceOptions(
                parent=self,
                retain_on_delete=True,
                # both change the bucket's policy: at once they answer 409 (terraform-aws-s3-bucket#77)
                depends_on=[private],
                aliases=[pulumi.Alias(name=f"{name}-tls")],
            ),
        )
        return bucket.bucket


def _found(name: str, region: str, component: ModelBucket) -> str:
    """Return the name of a bucket that is there.

    Raises:
        pulumi.RunError: there is none, the deployer may not see it, or it is in another region: nodes would pay for
            each byte, and the gateway endpoint leads to the stack's own region alone (NET-02).
    """
    try:
        bucket = s3.get_bucket(bucket=name, opts=pulumi.InvokeOptions(parent=component))
    except Exception as error:  # the SDK raises nothing narrower
        said = " ".join(str(error).split())
        raise pulumi.RunError(f"modelBucket.name: {shown(name)}; existing is true, and {said}") from None
    if bucket.bucket_region != region:
        raise pulumi.RunError(
            f"modelBucket.name: {shown(name)} is a bucket of {bucket.bucket_region}; expected one of {region}"
        )
    return name
