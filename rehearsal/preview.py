"""`pulumi preview` of the unmodified program, with the offline cloud."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from pathlib import Path

from rehearsal.engine.policies import asked
from rehearsal.engine.run import RunFailedError, attempt, rehearsed
from rehearsal.plan.plan import Plan, Recording
from rehearsal.providers import kubernetes


def preview(
    stack: str,
    *,
    project: Path | None = None,
    secrets: Sequence[tuple[str, str]] = (),
    state: Path | None = None,
    policies: Path | None = None,
) -> Plan:
    """Preview one stack of the project (default: the working directory).

    `secrets` are (configuration key, value) pairs. `state`: the folder of an earlier rehearsal that
    this one compares with; without it the plan starts from nothing. `policies`: folder of a policy pack, configured by
    the `config.json` in it. One preview at a time per process: the program runs in it. Raises UsageError,
    RunFailedError (PoliciesViolatedError when the pack stops it) and pulumi_cli.ToolMissingError.
    """
    started = time.monotonic()
    recording = Recording()
    packs = asked(policies)
    with rehearsed(stack, project=project, secrets=secrets, state=state, packs=bool(packs)) as rehearsal:
        # The events lack dependencies; the engine's own plan has them.
        goals = rehearsal.place.temporary / "plan.json"
        # A preview saves nothing; by default the engine puts the whole state together after each resource all the same.
        workspace = rehearsal.stack.workspace
        workspace.env_vars = {**workspace.env_vars, "PULUMI_SKIP_CHECKPOINTS": "true"}
        attempt(
            rehearsal,
            recording,
            lambda: rehearsal.stack.preview(on_event=recording.listen, plan=str(goals), **packs),
        )
        plans = json.loads(goals.read_text(encoding="utf-8"))["resourcePlans"]
        name = workspace.project_settings().name
    plan = recording.plan(
        name,
        stack,
        {urn: found.get("goal") or {} for urn, found in plans.items()},
        time.monotonic() - started,
        policies=bool(packs),
    )
    _refuse_unknown_kinds(plan)
    return plan


def _refuse_unknown_kinds(plan: Plan) -> None:
    """With an unknown kubeconfig the engine asks no provider, so nobody has refused these yet."""
    for resource in plan.resources:
        if resource.type.startswith("kubernetes:"):
            try:
                kubernetes.find(resource.type)
            except LookupError as refusal:
                raise RunFailedError(f"{resource.urn}: {refusal.args[0]}") from None
