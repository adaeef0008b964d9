"""Toggles of the model bucket."""

from tests.stack.toggles.toggle import Toggle

_KEY = "arn:aws:kms:us-west-2:000000000000:key/1234abcd-12ab-34cd-56ef-1234567890ab"
_READERS = ["arn:aws:iam::111122223333:root", "arn:aws:iam::000000000000:role/team/app"]

BUCKET = (
    Toggle(
        path="modelBucket.name",
        value="other-models",
        refused='servers.gemma.model.uri: "vllm-eks-dev-models-000000000000" is not modelBucket.name other-models',
    ),
    Toggle(
        path="modelBucket.name",
        value="other-models",
        also={"servers.gemma.model.uri": "s3://other-models/models/gemma-4-31b-it-nvfp4/r1/"},
        replaces=("Bucket models",),
        changes=("BucketPolicy models-policy", "RolePolicy gemma-server", "RolePolicy mountpoint-reader"),
        # the bucket is in the key: no other stack's warms this one's
        outputs=("modelBucket", "modelBucketArn", "servers"),
    ),
    Toggle(
        path="modelBucket.existing",
        value=True,
        also={"modelBucket.keepOnDestroy": True, "modelBucket.oldVersionDays": "never"},
        removes=("Bucket models",),
        changes=("BucketPolicy models-policy", "BucketLifecycleConfiguration models-lifecycle"),
    ),
    Toggle(
        path="modelBucket.existing",
        value=True,
        stack="prod",
        also={"modelBucket.oldVersionDays": "never"},
        removes=("Bucket models",),
        stopped="Bucket models",
    ),
    Toggle(path="modelBucket.keepOnDestroy", value=True, changes=("Bucket models",), options_only=True),
    Toggle(path="modelBucket.keepOnDestroy", value=False, stack="prod", changes=("Bucket models",), options_only=True),
    Toggle(
        path="modelBucket.encryption",
        value=_KEY,
        changes=(
            "BucketServerSideEncryptionConfiguration models-encryption",
            "RolePolicy gemma-server",
            "RolePolicy mountpoint-reader",
        ),
        outputs=("modelBucketKey",),
    ),
    Toggle(path="modelBucket.oldVersionDays", value=90, changes=("BucketLifecycleConfiguration models-lifecycle",)),
    Toggle(
        path="modelBucket.oldVersionDays", value="never", changes=("BucketLifecycleConfiguration models-lifecycle",)
    ),
    Toggle(path="modelBucket.readers", value=_READERS, changes=("BucketPolicy models-policy",)),
    Toggle(
        path="modelBucket.writers",
        value=["arn:aws:iam::000000000000:user/quantizer"],
        changes=("BucketPolicy models-policy",),
    ),
)
