"""What to do after a kill in the middle of an `up`: docs/recovery.md, rehearsed on the offline cloud.

The engine writes its state after each answer of the cloud. What was created between the last answer
that it saw and the kill is in the cloud and not in the state: the engine knows that it was creating
it, but no id.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pulumi.automation import Deployment

from rehearsal.engine.run import rehearsed
from rehearsal.engine.stack import Rehearsal
from rehearsal.providers.outputs import as_given
from rehearsal.providers.values import SECRET, SIGNATURE, Properties, reveal


@dataclass(frozen=True, kw_only=True)
class Pending:
    """A creation whose end the engine did not see."""

    urn: str
    id: str | None
    """Of the resource that the cloud has; None when the creation did not get that far."""


def recover(
    stack: str, *, project: Path | None = None, secrets: Sequence[tuple[str, str]] = (), state: Path
) -> tuple[Pending, ...]:
    """Make a stack in `state` usable again after its rehearsal was killed; what was found.

    Takes the steps of docs/recovery.md. Raises UsageError, RunFailedError and
    pulumi_cli.ToolMissingError.
    """
    with rehearsed(stack, project=project, secrets=secrets, state=state, killed=True, standing=True) as rehearsal:
        # The mark outlives a failure here: with the lock gone, an `up` would lose what the state does not know.
        rehearsal.unrecovered.touch()
        rehearsal.stack.cancel()
        exported = rehearsal.stack.export_stack()
        deployment = dict(exported.deployment or {})
        found = _pending(rehearsal, deployment)
        if deployment.get("pending_operations"):
            end = settled(deployment, {it.urn: it.id for it in found if it.id})
            rehearsal.stack.import_stack(Deployment(version=exported.version, deployment=end))
        rehearsal.stack.refresh()
        rehearsal.unrecovered.unlink()
    return found


def settled(deployment: Mapping[str, Any], ids: Mapping[str, str]) -> dict[str, Any]:
    """An exported state without pending operations: creations in `ids` (by URN) have ended, the others have not begun.

    What a finished creation was to replace is marked for deletion, as the engine would have done it,
    or dropped when it was deleted first. `pulumi refresh --import-pending-creates` would be the way,
    but CLI 3.274.1 drops what it is told to import. The refresh that follows reads the outputs.
    """
    pending = deployment.get("pending_operations") or ()
    creating = [it["resource"] for it in pending if it["type"] == "creating"]
    made = {it["urn"]: {**it, "id": ids[it["urn"]]} for it in creating if it["urn"] in ids}
    resources: list[Mapping[str, Any]] = []
    for old in deployment.get("resources") or ():
        # In its predecessor's place: what depends on it comes later.
        successor = made.pop(old["urn"], None)
        if successor is None:
            resources.append(old)
        elif old.get("pendingReplacement"):
            resources.append(successor)
        else:
            resources += [successor, {**old, "delete": True}]
    return {**deployment, "pending_operations": [], "resources": [*resources, *made.values()]}


def _pending(rehearsal: Rehearsal, deployment: Mapping[str, Any]) -> tuple[Pending, ...]:
    # What was deleted to be replaced is gone, and its id may have been given again.
    there = [it for it in deployment.get("resources") or () if not it.get("pendingReplacement")]
    managed = {(it["type"], it.get("id")) for it in there}
    found: list[Pending] = []
    for operation in deployment.get("pending_operations") or ():
        resource = operation["resource"]
        if operation["type"] == "creating" and resource.get("custom"):
            identifier = _made(rehearsal, resource, managed)
            managed.add((resource["type"], identifier))
            found.append(Pending(urn=resource["urn"], id=identifier))
    return tuple(found)


def _made(rehearsal: Rehearsal, resource: Mapping[str, Any], managed: set[tuple[str, str | None]]) -> str | None:
    """The id of what the cloud has made from these inputs and no state knows."""
    inputs: Properties = _plain(resource.get("inputs") or {})
    for identifier, outputs in rehearsal.cloud.all(resource["type"]).items():
        if (resource["type"], identifier) not in managed and as_given(reveal(outputs), inputs) == inputs:
            return identifier
    return None


def _plain(value: Any) -> Any:
    """`value` without the wrappers in which an exported state holds secrets; never for printing."""
    if isinstance(value, Mapping):
        if value.get(SIGNATURE) == SECRET:
            return _plain(json.loads(value["plaintext"]))
        return {key: _plain(item) for key, item in value.items()}
    return [_plain(item) for item in value] if isinstance(value, list) else value
