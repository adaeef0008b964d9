"""`modelBucket`: one that the stack makes, or one that is there already."""

from typing import Annotated

from pydantic import AfterValidator, BeforeValidator, Field, StringConstraints, ValidationInfo, field_validator

from infra.iam import KMS_KEY, PrincipalArn
from infra.section import EachOnce, Flag, Section, Whole

LONGEST_DAYS = 365


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

ReaderArn = Annotated[
    str,
    StringConstraints(
        pattern=r"^arn:aws(-cn|-us-gov)?:iam::[0-9]{12}:(root|role(/[A-Za-z0-9_+=,.@-]+)+)$", max_length=600
    ),
]


def _or_never(value: object) -> object:
    if value is None:
        raise ValueError
    return None if value == "never" else value


Days = Annotated[Annotated[Whole, Field(ge=1, le=LONGEST_DAYS)] | None, BeforeValidator(_or_never)]
"""None: never."""


class ModelBucketSettings(Section):
    """`modelBucket`.

    Its policy names `readers` and `writers` in both shapes. Whoever owns an existing bucket attaches that policy: the
    stack never changes what it did not make.
    """

    name: BucketName = Field(
        description="a bucket name of 3 to 63 lower-case letters, digits and single dashes, unique in all of AWS"
    )
    existing: Flag = Field(
        description="false (the stack makes the bucket) or true (it is there, in this account and region, and the stack"
        " only uses it)"
    )
    keep_on_destroy: Flag = Field(description="true (the bucket survives `pulumi destroy`) or false")
    encryption: Annotated[str, StringConstraints(pattern=rf"^(s3|{KMS_KEY})$")] = Field(
        description="s3 (S3's own key) or the ARN of a KMS key, arn:...:key/... (no alias: rights are to keys alone)"
    )
    old_version_days: Days = Field(
        description=f"a whole number of days, 1 to {LONGEST_DAYS}, after which a replaced or deleted object goes for"
        " good, or never"
    )
    readers: Annotated[tuple[ReaderArn, ...], EachOnce] = Field(
        description="a list of ARNs, of IAM roles or of whole other accounts (arn:aws:iam::...:root), that may read"
        " models and datasets (may be empty: [])"
    )
    writers: Annotated[tuple[PrincipalArn, ...], EachOnce] = Field(
        description="a list of ARNs of IAM roles or users of this account whose own rights to write models the bucket's"
        " policy lets through (may be empty: [])"
    )

    @field_validator("keep_on_destroy")
    @classmethod
    def _not_the_stacks_to_delete(cls, value: bool, info: ValidationInfo) -> bool:
        if info.data.get("existing") and not value:
            raise ValueError("an existing bucket is not the stack's to delete; expected true")
        return value

    @field_validator("old_version_days")
    @classmethod
    def _not_the_stacks_to_expire(cls, value: int | None, info: ValidationInfo) -> int | None:
        if info.data.get("existing") and value is not None:
            raise ValueError("the lifecycle of an existing bucket is its owner's; expected never")
        return value

    @property
    def key(self) -> str | None:
        """ARN of the customer key that objects are encrypted with; None when it is S3's own."""
        return None if self.encryption == "s3" else self.encryption
