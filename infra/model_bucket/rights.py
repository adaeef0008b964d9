"""What each identity may do in the bucket: functions of plain values or outputs.

With a customer key whoever reads needs `kms:Decrypt`, and so does whoever uploads in parts: S3 decrypts them to put
them together, so without it small files go through and large ones do not (IAM-03). S3's own key needs no right.
"""

from collections.abc import Sequence

import pulumi

from infra.iam import Statement, below, read_prefixes
from infra.model_bucket.prefixes import MANIFEST, MODELS

_PUT = ("s3:PutObject", "s3:AbortMultipartUpload")
"""PutObject covers every step of a multipart upload but its end without an object."""


def reader(bucket_arn: pulumi.Input[str], *prefixes: str, key: str | None) -> tuple[Statement, ...]:
    """Return the rights of what reads below the prefixes: servers and Mountpoint.

    Args:
        bucket_arn: of the model bucket.
        prefixes: each ends with a slash.
        key: ARN of the customer key; None when the bucket has none.
    """
    return (*read_prefixes(bucket_arn, *prefixes), *_decrypt(key))


def publisher(
    bucket_arn: pulumi.Input[str], *, model: str, folders: Sequence[str], key: str | None
) -> tuple[Statement, ...]:
    """Return the rights of a server's cache build: it reads the model and writes its own keys.

    Of caches it reads its own manifests alone, to find out whether a GPU has to work for it. It may not list them, so
    one that is not there answers 403: good enough, and an inline policy has room for 10,240 characters.

    Args:
        bucket_arn: of the model bucket.
        model: prefix of the server's model.
        folders: exact prefixes of the archives, `vllm-cache/<engine>/<gpu>/<model>/<fingerprint or "base">/`.
        key: ARN of the customer key; None when the bucket has none.
    """
    return (
        *read_prefixes(bucket_arn, model),
        {
            "Sid": "Manifests",
            "Effect": "Allow",
            "Action": "s3:GetObject",
            "Resource": [below(bucket_arn, f"/{folder}{MANIFEST}") for folder in sorted(folders)],
        },
        {
            "Sid": "Publish",
            "Effect": "Allow",
            "Action": list(_PUT),
            "Resource": [below(bucket_arn, f"/{folder}*") for folder in sorted(folders)],
        },
        *_encrypt(key),
    )


def onboarding(bucket_arn: pulumi.Input[str], *, key: str | None) -> tuple[Statement, ...]:
    """Return the rights of what copies models into the bucket and checks them there.

    Unfinished uploads are listed for the whole bucket: IAM has no prefix for that action (service authorization
    reference). It shows names of archives, which are no secret.

    Args:
        bucket_arn: of the model bucket.
        key: ARN of the customer key; None when the bucket has none.
    """
    return (
        *read_prefixes(bucket_arn, MODELS),
        {
            "Sid": "Onboard",
            "Effect": "Allow",
            "Action": list(_PUT),
            "Resource": below(bucket_arn, f"/{MODELS}*"),
        },
        {
            "Sid": "Unfinished",
            "Effect": "Allow",
            "Action": "s3:ListBucketMultipartUploads",
            "Resource": bucket_arn,
        },
        *_encrypt(key),
    )


def _decrypt(key: str | None) -> tuple[Statement, ...]:
    if key is None:
        return ()
    return ({"Sid": "Decrypt", "Effect": "Allow", "Action": "kms:Decrypt", "Resource": key},)


def _encrypt(key: str | None) -> tuple[Statement, ...]:
    if key is None:
        return ()
    actions = ["kms:GenerateDataKey", "kms:Decrypt"]
    return ({"Sid": "Encrypt", "Effect": "Allow", "Action": actions, "Resource": key},)
