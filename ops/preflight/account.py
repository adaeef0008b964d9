"""Whose credentials these are, and whether the region takes them. Asked before everything else."""

from collections.abc import Iterator

from botocore.exceptions import ClientError

from infra.naming import partition_of
from ops.aws import EXPIRED, SIGN_IN, answering, one_line
from ops.failures import RefusedError, UnclearError
from ops.preflight.asking import Asked, NoAnswer, answer, code_of
from ops.preflight.finding import Finding, ok

HOME = {"aws": "us-east-1", "aws-cn": "cn-north-1", "aws-us-gov": "us-gov-west-1"}
"""A region of each partition that nobody opts in to."""

CLOSED = frozenset({"RegionDisabledException", "RegionDisabled"})
"""STS is switched off in the region (API model of sts, AssumeRole)."""


def check(asked: Asked) -> Iterator[Finding]:
    """Yield who asks. STS of the region itself is asked: what answers there is open to the account.

    Raises:
        RefusedError: another account's credentials, or a region that the account has not opened. Nothing else is asked.
        UnclearError: no credentials, expired ones, no answer.
    """
    region, wanted = asked.stack.region, asked.stack.settings.account.id
    with answering("sts:GetCallerIdentity"):
        try:
            who = asked.aws.client("sts").get_caller_identity()
        except ClientError as error:
            raise _refused(asked, error) from None
    if who["Account"] != wanted:
        raise RefusedError(
            f"account.id: the stack file names {wanted}, and your credentials are {who['Arn']} of {who['Account']};"
            " nothing else was asked. Log in to the stack's account, or correct account.id"
        )
    yield ok(wanted, f"{who['Arn']}; {region} answers")


def _refused(asked: Asked, error: ClientError) -> Exception:
    """Return what to end with when STS of the region takes no credentials: a closed region says so in no other way."""
    code, region = code_of(error), asked.stack.region
    said = f"sts:GetCallerIdentity in {region}: AWS answers {code}: {error.response['Error'].get('Message', '')}"
    said = one_line(said)
    opened = opt_in(asked) if code in EXPIRED | CLOSED else None
    if opened == "not-opted-in":
        return RefusedError(
            f"aws:region: {region} is not open to account {asked.stack.settings.account.id};"
            f" aws account enable-region --region-name {region}"
        )
    if code in CLOSED:
        return RefusedError(f"aws:region: {said}; activate STS there (IAM console, Account settings)")
    if isinstance(opened, str):
        # the credentials are good elsewhere
        return UnclearError(
            f"{said}; the account has {region} ({opened}): use a session from a regional STS endpoint"
            " (AWS_STS_REGIONAL_ENDPOINTS=regional)"
        )
    return UnclearError(f"{said}; {SIGN_IN if code in EXPIRED else 'run again later'}")


def opt_in(asked: Asked) -> str | NoAnswer | None:
    """Return the opt-in status of the stack's region, as its partition's home region tells it; None: unheard of."""
    region = asked.stack.region

    def ask() -> str | None:
        ec2 = asked.aws.client("ec2", HOME[partition_of(region).name])
        found = ec2.describe_regions(RegionNames=[region], AllRegions=True)["Regions"]
        return str(found[0]["OptInStatus"]) if found else None

    return answer("ec2:DescribeRegions", ask)
