"""Whose credentials, and whether the region is open: the one question before all others."""

import pytest

from ops.failures import RefusedError, UnclearError
from ops.preflight import account
from tests.ops.conftest import ACCOUNT
from tests.ops.preflight.cloud import DENIED_EC2, Refusal

UNKNOWN_HERE = Refusal("InvalidClientTokenId", "The security token included in the request is invalid", 403)
SAID = (
    "sts:GetCallerIdentity in us-west-2: AWS answers InvalidClientTokenId: The security token included in the request"
    " is invalid"
)


def regions(status):
    return {"Regions": [{"RegionName": "us-west-2", "OptInStatus": status}] if status else []}


def test_the_region_is_asked_itself(asked, cloud):
    (finding,) = account.check(asked())
    assert (finding.verdict, finding.found) == ("ok", f"arn:aws:iam::{ACCOUNT}:role/x; us-west-2 answers")
    assert cloud.regions == {("sts", "us-west-2")}


def test_against_moto(real):
    """It says 123456789012, which is not the stack's."""
    with pytest.raises(
        RefusedError, match=r"^account.id: the stack file names 000000000000, and your credentials are "
    ):
        list(account.check(real()))


SIGN_IN = f"{SAID}; sign in: aws sso login, or AWS_PROFILE=<a profile of the stack's account>"


@pytest.mark.parametrize(
    ("told", "kind", "said"),
    [
        (
            regions("not-opted-in"),
            RefusedError,
            f"aws:region: us-west-2 is not open to account {ACCOUNT};"
            " aws account enable-region --region-name us-west-2",
        ),
        (
            regions("opted-in"),
            UnclearError,
            f"{SAID}; the account has us-west-2 (opted-in): use a session from a regional STS endpoint"
            " (AWS_STS_REGIONAL_ENDPOINTS=regional)",
        ),
        (
            UNKNOWN_HERE,
            UnclearError,
            f"{SAID}; sign in: aws sso login, or AWS_PROFILE=<a profile of the stack's account>",
        ),
        (
            DENIED_EC2,
            UnclearError,
            f"{SAID}; sign in: aws sso login, or AWS_PROFILE=<a profile of the stack's account>",
        ),
        (
            regions(None),
            UnclearError,
            f"{SAID}; sign in: aws sso login, or AWS_PROFILE=<a profile of the stack's account>",
        ),
    ],
    ids=["closed", "a token of another kind", "bad everywhere", "nobody tells", "no such region"],
)
def test_a_closed_region_is_told_from_bad_credentials(asked, cloud, told, kind, said):
    """STS of a closed region knows no credentials at all, so only a region that is open to all can tell."""
    cloud.on("GetCallerIdentity", UNKNOWN_HERE)
    cloud.on("DescribeRegions", told)
    with pytest.raises(kind) as ended:
        list(account.check(asked()))
    assert str(ended.value) == said
    assert ("ec2", "us-east-1") in cloud.regions


def test_sts_that_is_switched_off_is_a_refusal(asked, cloud):
    cloud.on("GetCallerIdentity", Refusal("RegionDisabledException", "STS is not activated", 403))
    cloud.on("DescribeRegions", regions("opt-in-not-required"))
    with pytest.raises(RefusedError) as ended:
        list(account.check(asked()))
    assert str(ended.value) == (
        "aws:region: sts:GetCallerIdentity in us-west-2: AWS answers RegionDisabledException: STS is not activated;"
        " activate STS there (IAM console, Account settings)"
    )


def test_expired_credentials_are_3_and_ask_no_region(asked, cloud):
    cloud.on("GetCallerIdentity", Refusal("ExpiredToken", "The security token included in the request is expired", 403))
    cloud.on("DescribeRegions", Refusal("AuthFailure"))
    with pytest.raises(UnclearError) as ended:
        list(account.check(asked()))
    assert str(ended.value) == (
        "sts:GetCallerIdentity in us-west-2: AWS answers ExpiredToken: The security token included in the request is"
        " expired; sign in: aws sso login, or AWS_PROFILE=<a profile of the stack's account>"
    )


def test_an_sts_that_is_busy_is_3_and_nobody_is_told_to_log_in(asked, cloud):
    cloud.on("GetCallerIdentity", Refusal("ThrottlingException", "Rate exceeded"))
    with pytest.raises(UnclearError) as ended:
        list(account.check(asked()))
    assert str(ended.value) == (
        "sts:GetCallerIdentity in us-west-2: AWS answers ThrottlingException: Rate exceeded; run again later"
    )
