"""AWS as `ops` asks it: clients of one region, and errors as one line."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

from boto3.session import Session
from botocore.config import Config
from botocore.exceptions import (
    BotoCoreError,
    ClientError,
    CredentialRetrievalError,
    NoCredentialsError,
    SSOError,
    TokenRetrievalError,
)

from ops.failures import RefusedError, UnclearError

_ACTIONS = {
    "DeleteObjects": "s3:DeleteObject",
    "GetObject": "s3:GetObject",
    "ListObjectsV2": "s3:ListBucket",
}
"""What IAM calls the right to do an operation of S3, which says it to its own account at most: others name theirs."""

_GONE = frozenset({"NoSuchBucket", "ResourceNotFoundException"})
"""What AWS says of a thing that is not there: an answer, and not a failure to answer."""

EXPIRED = frozenset(
    {
        *("ExpiredToken", "ExpiredTokenException", "RequestExpired", "InvalidClientTokenId", "InvalidToken"),
        *("UnrecognizedClientException", "AuthFailure", "InvalidAccessKeyId", "SignatureDoesNotMatch"),
    }
)
"""What AWS says to credentials that are none, or none any more: each service in its own words."""

NOT_SIGNED_IN = (NoCredentialsError, CredentialRetrievalError, SSOError, TokenRetrievalError)
"""What boto3 raises before it asks anybody."""

SIGN_IN = "sign in: aws sso login, or AWS_PROFILE=<a profile of the stack's account>"


def client(service: str, region: str) -> Any:
    """Return a client. It asks nothing yet.

    Raises:
        UnclearError: the shell's AWS configuration makes none.
    """
    config = Config(connect_timeout=10, read_timeout=60, retries={"mode": "standard", "max_attempts": 4})
    with answering(service), _MAKING:
        return session().client(service, region_name=region, config=config)


_MAKING = threading.Lock()
"""Sessions are not made for several threads."""


@cache
def session() -> Session:
    """Return the one of this run: each has credentials of its own, and asks for the MFA code again."""
    return Session()


@contextmanager
def answering(what: str) -> Iterator[None]:
    """Turn what boto3 raises into failures.

    Args:
        what: is asked about, for the message.

    Raises:
        RefusedError: it is not there.
        UnclearError: no credentials, no rights, no answer.
    """
    try:
        yield
    except ClientError as error:
        said = error.response.get("Error", {})
        code, message = str(said.get("Code", "")), str(said.get("Message", ""))
        hint = f"; {SIGN_IN}" if code in EXPIRED else missing(code, message, error.operation_name)
        line = f"{what}: {one_line(f'AWS answers {code}: {message}')}{hint}"
        raise (RefusedError(line) if code in _GONE else UnclearError(line)) from None
    except NOT_SIGNED_IN as error:
        raise UnclearError(f"{what}: {one_line(str(error))}; {SIGN_IN}") from None
    except (BotoCoreError, ValueError) as error:  # ValueError: AWS_ENDPOINT_URL is no URL
        raise UnclearError(f"{what}: {one_line(str(error))}") from None


def missing(code: str, message: str, operation: str) -> str:
    """Return which right an answer of S3 asks for, as the end of its line; empty where it says so, or asks for none."""
    action = _ACTIONS.get(operation, "")
    return (
        f" (needs {action} on a bucket of account.id)"
        if code == "AccessDenied" and action and action not in message
        else ""
    )


def one_line(text: str) -> str:
    """Return what AWS or its SDK says as one line, to which something may be added."""
    return " ".join(text.split()).rstrip(": ")
