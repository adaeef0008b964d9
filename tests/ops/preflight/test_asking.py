"""Why AWS did not answer, in one line, with the right that is missing."""

import pytest
from botocore.exceptions import EndpointConnectionError

from ops.aws import SIGN_IN
from ops.failures import UnclearError
from ops.preflight.asking import Aws, NoAnswer, answer
from tests.ops.preflight.cloud import Cloud, Refusal


def asked(refusal):
    cloud = Cloud()
    cloud.on("DescribeVpcs", refusal)
    return answer("ec2:DescribeVpcs", lambda: Aws("us-west-2", cloud.make).client("ec2").describe_vpcs())


@pytest.mark.parametrize(
    ("refusal", "why", "fix"),
    [
        (
            Refusal("UnauthorizedOperation", "No. Encoded authorization failure message: KD8s7", 403),
            "AWS answers UnauthorizedOperation: No.",
            "allow ec2:DescribeVpcs, then run again",
        ),
        (
            Refusal("AccessDeniedException", "a\nb"),
            "AWS answers AccessDeniedException: a b",
            "allow ec2:DescribeVpcs, then run again",
        ),
        (Refusal("ExpiredToken", "old"), "AWS answers ExpiredToken: old", SIGN_IN),
        (
            Refusal("RequestLimitExceeded", "slow"),
            "AWS answers RequestLimitExceeded: slow",
            "run again later",
        ),
        (Refusal("InternalError", ""), "AWS answers InternalError", "run again"),
    ],
    ids=["denied by EC2", "denied", "expired", "throttled", "broken"],
)
def test_an_error_says_what_to_do(refusal, why, fix):
    assert asked(refusal) == NoAnswer(f"ec2:DescribeVpcs: {why}", fix)


@pytest.mark.parametrize(
    ("error", "why", "fix"),
    [
        (
            EndpointConnectionError(endpoint_url="https://x"),
            'ec2:X: Could not connect to the endpoint URL: "https://x"',
            "reach AWS from here, then run again",
        ),
        (
            UnclearError("no such profile"),
            "ec2:X: no such profile",
            "mend the AWS configuration of this shell, then run again",
        ),
    ],
    ids=["no network", "no configuration"],
)
def test_no_answer_at_all_is_no_answer(error, why, fix):
    def ask():
        raise error

    assert answer("ec2:X", ask) == NoAnswer(why, fix)


def test_an_error_that_is_an_answer_is_one():
    assert answer("x:Y", lambda: 1, absent={}) == 1
    cloud = Cloud()
    cloud.on("GetRole", Refusal("NoSuchEntity"))
    client = Aws("us-west-2", cloud.make).client("iam")
    assert answer("iam:GetRole", lambda: client.get_role(RoleName="x"), absent={"NoSuchEntity": {}}) == {}


def test_a_client_is_made_once_for_each_region():
    cloud = Cloud()
    clients = Aws("us-west-2", cloud.make)
    assert clients.client("ec2") is clients.client("ec2")
    assert clients.client("ec2") is not clients.client("ec2", "us-east-1")
    assert cloud.regions == {("ec2", "us-west-2"), ("ec2", "us-east-1")}
