"""`pulumi up` and `pulumi destroy` of the unmodified program, with the offline cloud."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from pulumi.automation import EngineEvent

from rehearsal.engine.policies import asked
from rehearsal.engine.run import attempt, rehearsed
from rehearsal.engine.stack import Rehearsal
from rehearsal.plan.plan import Plan, Recording
from rehearsal.providers.journal import Journal

Listener = Callable[[EngineEvent], None]


def up(
    stack: str,
    *,
    project: Path | None = None,
    secrets: Sequence[tuple[str, str]] = (),
    state: Path | None = None,
    journal: Journal | None = None,
    policies: Path | None = None,
) -> Plan:
    """Bring one stack up; what was done, as a plan.

    `state`: the folder in which stack and cloud live on, made when missing; without it nothing
    stays. `journal` sees every change and may refuse it. `policies`: folder of a policy pack.
    Raises UsageError, RunFailedError and pulumi_cli.ToolMissingError.
    """
    packs = asked(policies)
    return _run(
        lambda it, listen: it.stack.up(on_event=listen, **packs),
        stack,
        project,
        secrets,
        state,
        journal,
        packs=bool(packs),
    )


def destroy(
    stack: str,
    *,
    project: Path | None = None,
    secrets: Sequence[tuple[str, str]] = (),
    state: Path,
    journal: Journal | None = None,
) -> Plan:
    """Destroy a stack that was brought up in `state`. Raises as `up`.

    Previews first, as `pulumi destroy` does without --skip-preview: only there does a protected
    resource stop it before anything is gone.
    """

    def previewed(rehearsal: Rehearsal, listen: Listener) -> None:
        rehearsal.stack.preview_destroy(on_event=listen)
        rehearsal.stack.destroy(on_event=listen)

    return _run(previewed, stack, project, secrets, state, journal, standing=True)


def _run(
    action: Callable[[Rehearsal, Listener], object],
    stack: str,
    project: Path | None,
    secrets: Sequence[tuple[str, str]],
    state: Path | None,
    journal: Journal | None,
    *,
    standing: bool = False,
    packs: bool = False,
) -> Plan:
    started = time.monotonic()
    recording = Recording()
    with rehearsed(
        stack, project=project, secrets=secrets, state=state, journal=journal, standing=standing, packs=packs
    ) as rehearsal:
        before = _states(rehearsal)
        attempt(rehearsal, recording, lambda: action(rehearsal, recording.listen))
        known = before | _states(rehearsal)
        name = rehearsal.stack.workspace.project_settings().name
    return recording.plan(name, stack, known, time.monotonic() - started, policies=packs)


def _states(rehearsal: Rehearsal) -> dict[str, Any]:
    """What the engine remembers of each URN: dependencies, which its events lack."""
    deployment = rehearsal.stack.export_stack().deployment or {}
    return {resource["urn"]: resource for resource in deployment.get("resources") or ()}
