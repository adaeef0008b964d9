"""The AWS account of a stack, and who deploys to it."""

from typing import Annotated

from pydantic import Field, StringConstraints

from infra.cluster.cluster import PrincipalArn
from infra.section import Section


class AccountSettings(Section):
    """`account`."""

    id: Annotated[str, StringConstraints(pattern=r"^[0-9]{12}$")] = Field(
        description="the AWS account's 12 digits in quotes"
    )
    deployer: PrincipalArn = Field(
        # EKS makes the creator admin and never moves that: later deployers need an access entry
        description="the ARN of the IAM role or user that runs the first `pulumi up`"
    )
