"""Secrets (`aws.secretsmanager`). A name that waits for the end of its recovery window is not simulated."""

from __future__ import annotations

from rehearsal.providers.aws.common import arn
from rehearsal.providers.change.unique import Unique
from rehearsal.providers.naming import AutoName
from rehearsal.providers.package import Birth, Kind, Made


def _secret(birth: Birth) -> Made:
    # AWS ends every ARN in six characters of its own
    identifier = arn(birth, "secretsmanager", f"secret:{birth.inputs['name']}-{birth.digits(6)}")
    return Made(id=identifier, outputs={"arn": identifier})


def _version(birth: Birth) -> Made:
    secret = birth.inputs["secretId"]
    digits = birth.digits(32)
    version = "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))
    return Made(
        id=f"{secret}|{version}",
        outputs={"arn": secret, "secretArn": secret, "versionId": version, "versionStages": ["AWSCURRENT"]},
    )


KINDS = {
    "aws:secretsmanager/secret:Secret": Kind(
        make=_secret,
        tagged=True,
        auto_name=AutoName(property="name", limit=512),
        unique=(Unique(error="ResourceExistsException", same=("name",)),),
    ),
    # PutSecretValue takes any number
    "aws:secretsmanager/secretVersion:SecretVersion": Kind(make=_version),
}
