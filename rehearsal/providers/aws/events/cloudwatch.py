"""EventBridge rules and their targets (`aws.cloudwatch`)."""

from __future__ import annotations

from rehearsal.providers.aws.common import arn
from rehearsal.providers.naming import AutoName
from rehearsal.providers.package import Birth, Kind, Made

_DEFAULT_BUS = "default"


def _bus(birth: Birth) -> tuple[str, ...]:
    """What stands before the name of a rule: the default bus is not named."""
    bus = birth.inputs.get("eventBusName") or _DEFAULT_BUS
    return () if bus == _DEFAULT_BUS else (bus,)


def _rule(birth: Birth) -> Made:
    identifier = "/".join((*_bus(birth), birth.inputs["name"]))
    return Made(id=identifier, outputs={"arn": arn(birth, "events", f"rule/{identifier}"), "state": "ENABLED"})


def _target(birth: Birth) -> Made:
    # targetCreateResourceID in events/target.go of terraform-provider-aws
    return Made(id="-".join((*_bus(birth), birth.inputs["rule"], birth.inputs["targetId"])))


KINDS = {
    # PutRule and PutTargets overwrite what is there.
    "aws:cloudwatch/eventRule:EventRule": Kind(make=_rule, tagged=True, auto_name=AutoName(property="name", limit=64)),
    "aws:cloudwatch/eventTarget:EventTarget": Kind(make=_target, auto_name=AutoName(property="targetId", limit=255)),
}
