"""What to do after a kill in the middle of an `up`: docs/recovery.md, rehearsed on the offline cloud.

The engine writes its state after each answer of the cloud. What was created between the last answer
that it saw and the kill is in the cloud and not in the state: the engine knows that it was creating
it, but no id.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pulumi.automation import Deployment

from rehearsal.engine.run import rehearsed
from rehearsal.engine.stack import Rehearsal
from rehearsal.providers.outputs import as_given
from rehearsal.providers.values import Properties, reveal


@dataclass(frozen=True, kw_only=True)
class Pending:
    """A creation whose end the engine did not see."""

    urn: str
    id: str | None
    """Of the resource that the cloud has; None when the creation did not get that far."""


def recover(stack: str, *, project: Path | None = None, state: Path) -> tuple[Pending, ...]:
    """Make a stack in `state` usable again after its rehearsal was killed; what was found.

    Takes the steps of docs/recovery.md. Raises UsageError, RunFailedError and
    pulumi_cli.ToolMissingError.
    """
    with rehearsed(stack, project=project, state=state, killed=True) as rehearsal:
        rehearsal.stack.cancel()
        exported = rehearsal.stack.export_stack()
        deployment = dict(exported.deployment or {})
        found = _pending(rehearsal, deployment)
        if found:
            end = settled(deployment, {it.urn: it.id for it in found if it.id})
            rehearsal.stack.import_stack(Deployment(version=exported.version, deployment=end))
            rehearsal.stack.refresh()
    return found


def settled(deployment: Mapping[str, Any], ids: Mapping[str, str]) -> dict[str, Any]:
    """An exported state whose pending creations have ended: those in `ids` (by URN) exist, the others do not.

    `pulumi refresh --import-pending-creates` would be the way, but CLI 3.274.1 drops what it is told
    to import. The refresh that follows reads the outputs.
    """
    pending = deployment.get("pending_operations") or ()
    creating = [it["resource"] for it in pending if it["type"] == "creating"]
    made = [{**it, "id": ids[it["urn"]]} for it in creating if it["urn"] in ids]
    return {**deployment, "pending_operations": [], "resources": [*(deployment.get("resources") or ()), *made]}


def _pending(rehearsal: Rehearsal, deployment: Mapping[str, Any]) -> tuple[Pending, ...]:
    managed = {(it["type"], it.get("id")) for it in deployment.get("resources") or ()}
    operations = [it["resource"] for it in deployment.get("pending_operations") or () if it["type"] == "creating"]
    return tuple(Pending(urn=it["urn"], id=_made(rehearsal, it, managed)) for it in operations if it.get("custom"))


def _made(rehearsal: Rehearsal, resource: dict[str, Any], managed: set[tuple[str, str | None]]) -> str | None:
    """The id of what the cloud has made from these inputs and no state knows."""
    inputs: Properties = reveal(resource.get("inputs") or {})
    for identifier, outputs in rehearsal.cloud.all(resource["type"]).items():
        if (resource["type"], identifier) not in managed and as_given(reveal(outputs), inputs) == inputs:
            return identifier
    return None
