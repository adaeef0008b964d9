"""Who may take the roles: workflows of one GitHub repository, by OpenID Connect, and never by a pattern."""

import re
from typing import Any

from infra.naming import Place
from ops.failures import UsageError
from ops.terminal import echo

ISSUER = "token.actions.githubusercontent.com"
AUDIENCE = "sts.amazonaws.com"
"""What aws-actions/configure-aws-credentials asks for."""

_REPOSITORY = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9-]{0,38})/[A-Za-z0-9._-]{1,100}")
_ENVIRONMENT = re.compile(r"[A-Za-z0-9._-]{1,255}")


def trust(at: Place, subject: str) -> dict[str, Any]:
    """Return the trust of the workflows whose token has exactly this subject.

    Both keys are compared as they are: with a `*` behind `ref:refs/` every branch would do, also a stranger's name.
    """
    provider = at.partition.arn("iam", f"oidc-provider/{ISSUER}", account=at.account)
    return {
        "Version": "2012-10-17",
        "Statement": [
            {
                "Sid": "WorkflowsAssume",
                "Effect": "Allow",
                "Principal": {"Federated": provider},
                "Action": "sts:AssumeRoleWithWebIdentity",
                "Condition": {"StringEquals": {f"{ISSUER}:aud": AUDIENCE, f"{ISSUER}:sub": subject}},
            }
        ],
    }


def of_environment(repository: str, environment: str) -> str:
    """Return the subject of jobs that GitHub lets into an environment, with its approvals.

    Raises:
        UsageError: one of the two is no name.
    """
    if not _ENVIRONMENT.fullmatch(environment):
        raise UsageError(f"--environment {echo(environment)}: expected a name of letters, digits, '.', '_' and '-'")
    return f"repo:{_repository(repository)}:environment:{environment}"


def _repository(name: str) -> str:
    if not _REPOSITORY.fullmatch(name):
        raise UsageError(f"--github {echo(name)}: expected OWNER/NAME, without patterns")
    return name
