"""What AWS answers, as one line that says what to do next."""

import pytest
from botocore.exceptions import (
    ClientError,
    CredentialRetrievalError,
    NoCredentialsError,
    TokenRetrievalError,
    UnauthorizedSSOTokenError,
)

from ops.aws import answering
from ops.failures import UnclearError

SAID = "; sign in: aws sso login, or AWS_PROFILE=<a profile of the stack's account>"


@pytest.mark.parametrize(
    ("raised", "said"),
    [
        (NoCredentialsError(), "Unable to locate credentials"),
        (
            UnauthorizedSSOTokenError(),
            "The SSO session associated with this profile has expired or is otherwise invalid. To refresh this SSO"
            " session run aws sso login with the corresponding profile.",
        ),
        (
            TokenRetrievalError(provider="sso", error_msg="Token has expired"),
            "Error when retrieving token from sso: Token has expired",
        ),
        (
            CredentialRetrievalError(provider="custom-process", error_msg="exit 1"),
            "Error when retrieving credentials from custom-process: exit 1",
        ),
        *(
            (ClientError({"Error": {"Code": code, "Message": "no"}}, "GetObject"), f"AWS answers {code}: no")
            for code in ("ExpiredToken", "ExpiredTokenException", "InvalidClientTokenId", "UnrecognizedClientException")
        ),
    ],
    ids=["none", "sso", "token", "process", "expired", "expired elsewhere", "unknown key", "unknown client"],
)
def test_credentials_that_are_none_are_told_with_how_to_have_some(raised, said):
    with pytest.raises(UnclearError) as failure, answering("bucket b"):
        raise raised
    assert str(failure.value) == f"bucket b: {said}{SAID}"


def test_a_right_that_is_missing_is_no_matter_of_signing_in():
    with pytest.raises(UnclearError) as failure, answering("bucket b"):
        raise ClientError({"Error": {"Code": "AccessDenied", "Message": "no"}}, "GetObject")
    assert str(failure.value) == "bucket b: AWS answers AccessDenied: no (needs s3:GetObject on a bucket of account.id)"
