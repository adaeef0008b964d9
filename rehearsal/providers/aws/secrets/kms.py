"""Encryption keys (`aws.kms`)."""

from __future__ import annotations

from rehearsal.providers.aws.common import arn
from rehearsal.providers.change.unique import Unique
from rehearsal.providers.naming import AutoName
from rehearsal.providers.package import Birth, Kind, Made


def _key(birth: Birth) -> Made:
    digits = birth.digits(32)
    identifier = "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))
    return Made(
        id=identifier,
        outputs={"keyId": identifier, "arn": arn(birth, "kms", f"key/{identifier}")},
    )


def _alias(birth: Birth) -> Made:
    name = birth.inputs["name"]
    target = str(birth.inputs["targetKeyId"])
    key = target if target.startswith("arn:") else arn(birth, "kms", f"key/{target}")
    return Made(id=name, outputs={"arn": arn(birth, "kms", name), "targetKeyArn": key})


KINDS = {
    "aws:kms/key:Key": Kind(make=_key, tagged=True),
    "aws:kms/alias:Alias": Kind(
        make=_alias,
        auto_name=AutoName(property="name", limit=256, prefix="alias/"),
        unique=(Unique(error="AlreadyExistsException", same=("name",)),),
    ),
}
