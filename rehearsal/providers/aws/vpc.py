"""Security group rules (`aws.vpc`)."""

from __future__ import annotations

from rehearsal.providers.aws.common import arn
from rehearsal.providers.package import Birth, Kind, Made


def _rule(birth: Birth) -> Made:
    identifier = f"sgr-{birth.digits(17)}"
    return Made(
        id=identifier,
        outputs={
            "arn": arn(birth, "ec2", f"security-group-rule/{identifier}"),
            "securityGroupRuleId": identifier,
        },
    )


KINDS = {
    "aws:vpc/securityGroupIngressRule:SecurityGroupIngressRule": Kind(make=_rule, tagged=True),
    "aws:vpc/securityGroupEgressRule:SecurityGroupEgressRule": Kind(make=_rule, tagged=True),
}
