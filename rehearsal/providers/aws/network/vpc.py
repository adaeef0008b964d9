"""Security group rules (`aws.vpc`)."""

from __future__ import annotations

from rehearsal.providers.aws.common import arn
from rehearsal.providers.change.unique import Unique
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


_RULE = Kind(
    make=_rule,
    tagged=True,
    unique=(
        Unique(
            error="InvalidPermission.Duplicate",
            same=(
                *("securityGroupId", "ipProtocol", "fromPort", "toPort"),
                *("cidrIpv4", "cidrIpv6", "prefixListId", "referencedSecurityGroupId"),
            ),
        ),
    ),
)

KINDS = {
    "aws:vpc/securityGroupIngressRule:SecurityGroupIngressRule": _RULE,
    "aws:vpc/securityGroupEgressRule:SecurityGroupEgressRule": _RULE,
}
