"""What a policy pack says of a run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from pulumi.automation import events

Level = Literal["mandatory", "advisory", "unchecked"]
"""`mandatory` stops the run. `unchecked`: the rule has met a value that only `up` knows."""

_CANNOT = "can't run policy "
_WHY = " during preview: "
"""What the policy SDK writes around a value that is not known (pulumi-policy 1.21.0, `policy.py`)."""


@dataclass(frozen=True, kw_only=True)
class Finding:
    """What one rule says of one resource, or of the whole stack."""

    rule: str
    level: Level
    urn: str | None
    """None: of several resources, which the text names."""
    says: str
    why: str
    """What must hold, and what happens else. Empty for what was not checked."""

    @property
    def name(self) -> str:
        """Logical name of the resource; empty: of several."""
        return self.urn.rpartition("::")[2] if self.urn else ""

    def as_json(self) -> dict[str, Any]:
        """The finding for a JSON file."""
        return {"rule": self.rule, "level": self.level, "urn": self.urn, "says": self.says, "why": self.why}


def finding(event: events.PolicyEvent) -> Finding:
    """Return what an event of the engine says."""
    text = event.message.strip()
    if text.startswith(_CANNOT) and _WHY in text:
        return Finding(rule=event.policy_name, level="unchecked", urn=None, says=text.partition(_WHY)[2], why="")
    why, _, says = text.partition("\n")
    level: Level = "mandatory" if event.enforcement_level == "mandatory" else "advisory"
    return Finding(rule=event.policy_name, level=level, urn=event.resource_urn or None, says=says or why, why=why)


def advice(found: Sequence[Finding] | None) -> Iterator[str]:
    """Yield what the pack said and did not stop the run for; last, that it was run. None: none was."""
    if found is None:
        return
    for it in found:
        if it.level == "advisory":
            yield f"policy {it.rule}: {it.name}: {it.says} {it.why}"
    unchecked = [it for it in found if it.level == "unchecked"]
    for it in unchecked:
        yield f"policy {it.rule}: {it.says}"
    yield f"policies: no violation{f', {len(unchecked)} not checked to the end before `up`' if unchecked else ''}"


def violations(found: Sequence[Finding]) -> str:
    """Return what stopped a run, a paragraph for each rule."""
    stopped = [it for it in found if it.level == "mandatory"]
    lines = [f"the policy pack refuses {len(stopped)} thing{'s' * (len(stopped) != 1)}:"]
    for rule in dict.fromkeys(it.rule for it in stopped):
        its = [it for it in stopped if it.rule == rule]
        lines += [f"  {rule}: {it.name}: {it.says}" for it in its]
        lines.append(f"    {its[0].why}")
    return "\n".join(lines)
