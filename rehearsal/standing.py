"""A stack as the engine remembers it after an `up` in the offline cloud."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rehearsal.engine.run import attempt, rehearsed
from rehearsal.plan.plan import Recording


def standing(
    stack: str, *, project: Path | None = None, secrets: Sequence[tuple[str, str]] = ()
) -> list[dict[str, Any]]:
    """Bring one stack up and return its resources, in the form of `pulumi stack export`: secrets are encrypted.

    Nothing stays. Raises UsageError, RunFailedError and pulumi_cli.ToolMissingError.
    """
    recording = Recording()
    with rehearsed(stack, project=project, secrets=secrets) as rehearsal:
        attempt(rehearsal, recording, lambda: rehearsal.stack.up(on_event=recording.listen))
        deployment = rehearsal.stack.export_stack().deployment or {}
    resources: list[dict[str, Any]] = deployment.get("resources") or []
    return resources
