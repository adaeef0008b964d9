"""What a run of the engine planned or did: every resource, the stack's outputs, what was said on the way."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from pulumi.automation import EngineEvent, OpType, events

from rehearsal.plan.findings import Finding, finding
from rehearsal.providers.values import SECRET, SIGNATURE, UNKNOWN

__all__ = ["HIDDEN", "UNKNOWN", "Message", "Plan", "PlannedResource", "Recording"]

HIDDEN = "[secret]"
"""Stands for a secret value; the value itself is never kept."""
STACK_TYPE = "pulumi:pulumi:Stack"

Action = Literal["create", "update", "replace", "delete", "same"]
# A replacement is several steps of one URN: the strongest word for them stands.
_ACTIONS: dict[OpType, Action] = {
    OpType.REPLACE: "replace",
    OpType.CREATE_REPLACEMENT: "replace",
    OpType.DELETE_REPLACED: "replace",
    OpType.CREATE: "create",
    OpType.IMPORT: "create",
    OpType.UPDATE: "update",
    OpType.DELETE: "delete",
}
_STRENGTH: tuple[Action, ...] = ("same", "delete", "update", "create", "replace")


@dataclass(frozen=True, kw_only=True)
class PlannedResource:
    """One resource as the engine would make it, after the provider's Check.

    Values in `inputs` that only exist after `up` are `UNKNOWN`, secrets are `HIDDEN`.
    """

    urn: str
    type: str
    """Type token, as `aws:ec2/vpc:Vpc`."""
    name: str
    """Logical name."""
    parent: str | None
    """URN; None for the stack."""
    action: Action = "create"
    changed: Mapping[str, str] = field(default_factory=dict)
    """Property path to `add`, `update`, `delete`, with `-replace` where that forces a replacement."""
    custom: bool
    """False for components and the stack."""
    inputs: Mapping[str, Any]
    provider: str | None
    """URN of the provider resource; None for what needs none."""
    protect: bool = False
    retain_on_delete: bool = False
    dependencies: tuple[str, ...] = ()
    """URNs that must exist first, by data or by `depends_on`."""
    property_dependencies: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Input name to the URNs that its value comes from."""


@dataclass(frozen=True, kw_only=True)
class Message:
    """A line of the program or a provider: severity `info`, `warning` or `error`."""

    severity: str
    text: str
    urn: str | None


@dataclass(frozen=True, kw_only=True)
class Plan:
    """The result of one run, resources in the order in which the engine met them."""

    project: str
    stack: str
    resources: tuple[PlannedResource, ...]
    outputs: Mapping[str, Any]
    messages: tuple[Message, ...]
    seconds: float
    findings: tuple[Finding, ...] | None = None
    """Of the policy pack; None: none was asked."""

    def of(self, token: str) -> tuple[PlannedResource, ...]:
        """The resources of one type token."""
        return tuple(found for found in self.resources if found.type == token)

    def one(self, token: str, name: str | None = None) -> PlannedResource:
        """The only resource of a type (and name). Raises LookupError when there is not one."""
        found = [it for it in self.of(token) if name is None or it.name == name]
        if len(found) != 1:
            names = ", ".join(it.name for it in self.of(token)) or "none"
            raise LookupError(f"{token} {name or ''}: {len(found)} found (all of it: {names})")
        return found[0]

    def changes(self) -> tuple[PlannedResource, ...]:
        """The resources that do not stay as they are."""
        return tuple(found for found in self.resources if found.action != "same")

    def as_json(self) -> dict[str, Any]:
        """The plan for a JSON file; `unknown` tells the marker that stands for unknown values."""
        return {
            "project": self.project,
            "stack": self.stack,
            "unknown": UNKNOWN,
            "resources": [
                {
                    "urn": it.urn,
                    "type": it.type,
                    "name": it.name,
                    "parent": it.parent,
                    "action": it.action,
                    "changed": it.changed,
                    "custom": it.custom,
                    "provider": it.provider,
                    "protect": it.protect,
                    "retainOnDelete": it.retain_on_delete,
                    "inputs": it.inputs,
                    "dependencies": it.dependencies,
                    "propertyDependencies": it.property_dependencies,
                }
                for it in self.resources
            ],
            "outputs": self.outputs,
            "messages": [vars(message) for message in self.messages],
            "findings": None if self.findings is None else [it.as_json() for it in self.findings],
            "seconds": round(self.seconds, 3),
        }


@dataclass
class _Seen:
    """What the events said of one resource so far."""

    state: events.StepEventStateMetadata
    action: Action = "same"
    changed: dict[str, str] = field(default_factory=dict)

    def note(self, step: events.StepEventMetadata) -> None:
        """Take in one more step."""
        self.action = max(self.action, _ACTIONS.get(step.op, "same"), key=_STRENGTH.index)
        self.changed |= {key: "update" for key in step.diffs or () if key not in self.changed}
        if step.detailed_diff:
            self.changed = {path: found.diff_kind.value for path, found in step.detailed_diff.items()}


class Recording:
    """Listens to the engine's events of one run."""

    def __init__(self) -> None:
        self._seen: dict[str, _Seen] = {}
        self._outputs: Mapping[str, Any] = {}
        self.messages: list[Message] = []
        self.findings: list[Finding] = []

    def listen(self, event: EngineEvent) -> None:
        """Take one event in; the Automation API calls this in the engine's order."""
        if event.resource_pre_event is not None:
            self._note(event.resource_pre_event.metadata)
        elif event.res_outputs_event is not None:
            state = event.res_outputs_event.metadata.new
            # The stack reports twice: when it is registered (no outputs yet) and at the end.
            if state is not None and state.type == STACK_TYPE and state.outputs:
                self._outputs = state.outputs
        elif event.policy_event is not None:
            self.findings.append(finding(event.policy_event))
        elif event.diagnostic_event is not None and event.diagnostic_event.severity != "debug":
            said = event.diagnostic_event
            self.messages.append(Message(severity=said.severity, text=said.message.strip(), urn=said.urn or None))

    def _note(self, step: events.StepEventMetadata) -> None:
        state = step.new or step.old
        if state is None:
            return
        seen = self._seen.setdefault(state.urn, _Seen(state))
        seen.state = step.new or seen.state
        seen.note(step)

    def plan(
        self, project: str, stack: str, goals: Mapping[str, Any], seconds: float, *, policies: bool = False
    ) -> Plan:
        """The plan so far. `policies`: a policy pack was run.

        `goals`: for each URN what holds `dependencies` and `propertyDependencies`, which the events
        lack: the engine's plan file or its exported state has it.
        """
        return Plan(
            project=project,
            stack=stack,
            resources=tuple(_planned(seen, goals.get(urn, {})) for urn, seen in self._seen.items()),
            outputs=_readable(self._outputs),
            messages=tuple(self.messages),
            seconds=seconds,
            findings=tuple(self.findings) if policies else None,
        )


def _planned(seen: _Seen, goal: Mapping[str, Any]) -> PlannedResource:
    state = seen.state
    return PlannedResource(
        urn=state.urn,
        type=state.type,
        name=state.urn.split("::", 3)[3],
        parent=state.parent or None,
        action=seen.action,
        changed=seen.changed,
        custom=bool(state.custom),
        inputs=_readable(state.inputs or {}),
        # A provider reference is `<urn>::<id>`; the id says nothing in a preview.
        provider=state.provider.rpartition("::")[0] or None,
        protect=bool(state.protect),
        retain_on_delete=bool(state.retain_on_delete),
        dependencies=tuple(goal.get("dependencies") or ()),
        property_dependencies={key: tuple(urns) for key, urns in (goal.get("propertyDependencies") or {}).items()},
    )


def _readable(value: Any) -> Any:
    if isinstance(value, Mapping):
        if value.get(SIGNATURE) == SECRET:
            return HIDDEN
        return {key: _readable(item) for key, item in value.items() if key != "__internal"}
    if isinstance(value, list):
        return [_readable(item) for item in value]
    return value
