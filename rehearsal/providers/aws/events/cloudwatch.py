"""EventBridge rules and their targets (`aws.cloudwatch`). No event ever happens here."""

from __future__ import annotations

from rehearsal.providers.aws.common import arn
from rehearsal.providers.naming import AutoName
from rehearsal.providers.package import Birth, Kind, Made

_DEFAULT_BUS = "default"


def _on_bus(birth: Birth, name: str) -> str:
    bus = birth.inputs.get("eventBusName", _DEFAULT_BUS)
    return name if bus == _DEFAULT_BUS else f"{bus}/{name}"


def _rule(birth: Birth) -> Made:
    identifier = _on_bus(birth, birth.inputs["name"])
    return Made(id=identifier, outputs={"arn": arn(birth, "events", f"rule/{identifier}"), "state": "ENABLED"})


def _target(birth: Birth) -> Made:
    target = birth.inputs.get("targetId") or f"terraform-{birth.digits(26)}"
    return Made(id=f"{_on_bus(birth, birth.inputs['rule'])}-{target}", outputs={"targetId": target})


KINDS = {
    # PutRule and PutTargets overwrite what is there.
    "aws:cloudwatch/eventRule:EventRule": Kind(make=_rule, tagged=True, auto_name=AutoName(property="name", limit=64)),
    "aws:cloudwatch/eventTarget:EventTarget": Kind(make=_target),
}
