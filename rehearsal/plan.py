"""What a preview found: every planned resource, the stack's outputs, what was said on the way."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pulumi.automation import EngineEvent, events

from rehearsal.providers.values import SECRET, SIGNATURE, UNKNOWN

__all__ = ["HIDDEN", "UNKNOWN", "Message", "Plan", "PlannedResource", "Recording"]

HIDDEN = "[secret]"
"""Stands for a secret value; the value itself is never kept."""
STACK_TYPE = "pulumi:pulumi:Stack"


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
    """The result of one preview, resources in the order in which the engine met them."""

    project: str
    stack: str
    resources: tuple[PlannedResource, ...]
    outputs: Mapping[str, Any]
    messages: tuple[Message, ...]
    seconds: float

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
            "seconds": round(self.seconds, 3),
        }


class Recording:
    """Listens to the engine's events of one preview."""

    def __init__(self) -> None:
        self._states: dict[str, events.StepEventStateMetadata] = {}
        self._outputs: Mapping[str, Any] = {}
        self.messages: list[Message] = []

    def listen(self, event: EngineEvent) -> None:
        """Take one event in; the Automation API calls this in the engine's order."""
        if event.resource_pre_event is not None:
            state = event.resource_pre_event.metadata.new
            if state is not None:
                self._states[state.urn] = state
        elif event.res_outputs_event is not None:
            state = event.res_outputs_event.metadata.new
            # The stack reports twice: when it is registered (no outputs yet) and at the end.
            if state is not None and state.type == STACK_TYPE and state.outputs:
                self._outputs = state.outputs
        elif event.diagnostic_event is not None and event.diagnostic_event.severity != "debug":
            said = event.diagnostic_event
            self.messages.append(Message(severity=said.severity, text=said.message.strip(), urn=said.urn or None))

    def plan(self, project: str, stack: str, goals: Mapping[str, Any], seconds: float) -> Plan:
        """The plan so far. `goals`: `resourcePlans` of the engine's plan file, for dependencies."""
        return Plan(
            project=project,
            stack=stack,
            resources=tuple(_planned(state, goals.get(urn, {}).get("goal", {})) for urn, state in self._states.items()),
            outputs=_readable(self._outputs),
            messages=tuple(self.messages),
            seconds=seconds,
        )


def _planned(state: events.StepEventStateMetadata, goal: Mapping[str, Any]) -> PlannedResource:
    return PlannedResource(
        urn=state.urn,
        type=state.type,
        name=state.urn.split("::", 3)[3],
        parent=state.parent or None,
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
