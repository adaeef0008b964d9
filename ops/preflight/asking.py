"""AWS as the checks ask it: an answer, or why there is none. A question that fails takes no other down with it."""

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from botocore.exceptions import BotoCoreError, ClientError

from ops import aws
from ops.failures import UnclearError
from ops.preflight.finding import Finding, unknown
from ops.stack.stack_file import Stack

DENIED = frozenset({"AccessDenied", "AccessDeniedException", "UnauthorizedOperation", "Forbidden", "403"})
"""The credentials themselves are refused."""

THROTTLED = frozenset(
    {
        *(
            "Throttling",
            "ThrottlingException",
            "ThrottledException",
            "RequestLimitExceeded",
            "TooManyRequestsException",
        ),
        *("RequestThrottled", "SlowDown", "MaxConfigLimitExceeded"),
    }
)
"""botocore has tried again already."""

T = TypeVar("T")


@dataclass(frozen=True)
class NoAnswer:
    """A question that AWS did not answer."""

    why: str
    fix: str

    def about(self, subject: str) -> Finding:
        """Return it as a finding."""
        return unknown(subject, self.why, self.fix)


@dataclass
class Aws:
    """Clients of the stack's region, each made once: checks run side by side."""

    region: str
    make: Callable[[str, str], Any] = aws.client
    """Makes the client of a service in a region."""
    _clients: dict[tuple[str, str], Any] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def client(self, service: str, region: str | None = None) -> Any:
        """Return the client of a service, of the stack's region or another one.

        Raises:
            UnclearError: the shell's AWS configuration makes none.
        """
        key = service, region or self.region
        # making one reads files that others read too; using one is safe from every thread
        with self._lock:
            if key not in self._clients:
                self._clients[key] = self.make(*key)
            return self._clients[key]


@dataclass(frozen=True, kw_only=True)
class Asked:
    """What every check is given."""

    stack: Stack
    aws: Aws


def answer(action: str, ask: Callable[[], T], *, absent: Mapping[str, T] | None = None) -> T | NoAnswer:
    """Return what AWS answers, or why it does not.

    Args:
        action: what IAM calls the right to ask: `ec2:DescribeSubnets`. It is not always the name of the client.
        ask: makes the request, all pages of it.
        absent: what codes of errors mean that are answers.
    """
    try:
        return ask()
    except ClientError as error:
        code = code_of(error)
        if absent is not None and code in absent:
            return absent[code]
        return NoAnswer(aws.one_line(f"{action}: AWS answers {code}: {_message(error)}"), _fix(action, code))
    except UnclearError as error:
        return NoAnswer(aws.one_line(f"{action}: {error}"), "mend the AWS configuration of this shell, then run again")
    except aws.NOT_SIGNED_IN as error:
        return NoAnswer(aws.one_line(f"{action}: {error}"), aws.SIGN_IN)
    except (BotoCoreError, ValueError) as error:
        return NoAnswer(aws.one_line(f"{action}: {error}"), "reach AWS from here, then run again")


def code_of(error: ClientError) -> str:
    """Return AWS's name for an error."""
    return str(error.response.get("Error", {}).get("Code", ""))


def _fix(action: str, code: str) -> str:
    if code in DENIED:
        return f"allow {action}, then run again"
    if code in aws.EXPIRED:
        return aws.SIGN_IN
    return "run again later" if code in THROTTLED else "run again"


def _message(error: ClientError) -> str:
    said = str(error.response.get("Error", {}).get("Message", ""))
    # EC2 adds what only sts:DecodeAuthorizationMessage reads, a thousand characters of it
    return said.partition("Encoded authorization failure message")[0]
