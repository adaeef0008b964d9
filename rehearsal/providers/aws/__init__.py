"""The offline `aws` provider: one module per AWS service."""

from __future__ import annotations

from importlib.metadata import version

from rehearsal.providers.aws import cloudwatch, ec2, ecr, eks, iam, kms, s3, secretsmanager, sqs, sts, vpc
from rehearsal.providers.aws.change import diff, diff_config
from rehearsal.providers.aws.common import check
from rehearsal.providers.package import Kind, Package

KINDS: dict[str, Kind] = (
    ec2.KINDS
    | vpc.KINDS
    | iam.KINDS
    | eks.KINDS
    | kms.KINDS
    | s3.KINDS
    | ecr.KINDS
    | secretsmanager.KINDS
    | sqs.KINDS
    | cloudwatch.KINDS
)


def find(token: str) -> Kind:
    """The kind of an aws type token. Raises LookupError naming the module where to add it."""
    try:
        return KINDS[token]
    except KeyError:
        service = token.split(":")[1].split("/")[0]
        raise LookupError(
            f"the offline aws provider does not know the resource type `{token}`: "
            f"add it to KINDS in rehearsal/providers/aws/{service}.py"
        ) from None


def package() -> Package:
    """The provider, with the version of the installed SDK."""
    return Package(
        name="aws",
        version=version("pulumi-aws"),
        find=find,
        check=check,
        diff=diff,
        diff_config=diff_config,
        invokes=sts.INVOKES,
    )
