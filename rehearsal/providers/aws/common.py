"""What all AWS resources share: account, region, ARNs, tags, auto-naming."""

from __future__ import annotations

from collections.abc import Callable

from rehearsal.providers.naming import choose
from rehearsal.providers.package import Birth, Instance, Kind, Made, Proposal
from rehearsal.providers.values import (
    SIGNATURE,
    UNKNOWN,
    Properties,
    is_unknown,
    reveal,
)

_ANY_ACCOUNT = "000000000000"
# Resources of these services live in no region, so pulumi-aws 7 gives them no `region`.
_GLOBAL_SERVICES = frozenset({"iam", "cloudfront", "route53", "organizations"})


def account(instance: Instance) -> str:
    """The account that the provider is allowed to use, so that a placeholder shows up in ARNs."""
    allowed = instance.config.get("allowedAccountIds") or [_ANY_ACCOUNT]
    return str(allowed[0])


def region(birth: Birth) -> str:
    """The region of a resource: its own, else its provider's."""
    return str(birth.inputs.get("region") or birth.instance.config["region"])


def partition(region: str) -> str:
    """The partition of a region, by its name: other ARNs and host names in China and GovCloud."""
    for prefix, name in (("cn-", "aws-cn"), ("us-gov-", "aws-us-gov")):
        if region.startswith(prefix):
            return name
    return "aws"


def dns_suffix(partition: str) -> str:
    """The end of host names in a partition."""
    return "amazonaws.com.cn" if partition == "aws-cn" else "amazonaws.com"


def arn(birth: Birth, service: str, path: str, *, regional: bool = True) -> str:
    """`arn:aws:<service>:<region>:<account>:<path>`; global services have an empty region."""
    where = region(birth) if regional else ""
    return f"arn:{partition(birth.instance.config['region'])}:{service}:{where}:{account(birth.instance)}:{path}"


def generated(prefix: str, service: str, path: str) -> Callable[[Birth], Made]:
    """Makes ids like `vpc-0f3a...` (17 hex digits) and an ARN ending in `<path>/<id>`."""

    def make(birth: Birth) -> Made:
        identifier = f"{prefix}-{birth.digits(17)}"
        return Made(
            id=identifier,
            outputs={"arn": arn(birth, service, f"{path}/{identifier}")},
        )

    return make


def check(kind: Kind, proposal: Proposal) -> Properties:
    """Adds what pulumi-aws adds in Check: name, region, and `tagsAll` from the default tags.

    Raises NameRefusedError when no name can be chosen.
    """
    inputs = dict(proposal.news)
    rule = kind.auto_name
    if rule is not None and inputs.get(rule.property) is None:
        # A name that was generated once stays, or every update would be a replacement.
        inputs[rule.property] = proposal.olds.get(rule.property) or choose(
            rule, proposal.logical, proposal.seed, proposal.autonaming
        )
    config = proposal.instance.config
    if _service(proposal.token) not in _GLOBAL_SERVICES and config.get("region"):
        inputs.setdefault("region", config["region"])
    if kind.tagged:
        tags = _all_tags(config.get("defaultTags"), inputs.get("tags"))
        if tags:
            inputs["tagsAll"] = tags
    return inputs


def _service(token: str) -> str:
    return token.split(":")[1].split("/")[0]


def _all_tags(default: Properties | None, own: Properties | None) -> Properties | str:
    tags = (default or {}).get("tags") or {}
    if is_unknown(own):
        return UNKNOWN
    if own and own.get(SIGNATURE):
        return {**own, "value": {**tags, **reveal(own)}}
    return {**tags, **(own or {})}
