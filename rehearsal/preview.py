"""`pulumi preview` of the unmodified program, with the offline cloud."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pulumi.automation import CommandError

from rehearsal.engine import Rehearsal, prepared
from rehearsal.plan import Message, Plan, Recording
from rehearsal.program import Program
from rehearsal.providers import kubernetes
from rehearsal.stackfile import UnreadableStackError
from rehearsal.toolchain import pulumi_cli

_SDK_PREFIX = "python inline source runtime error: "


class UsageError(Exception):
    """What was asked for cannot be rehearsed: no such stack file, a secret that is missing."""


class PreviewFailedError(Exception):
    """The preview did not go through; the message is what the user should read, nothing else."""


def preview(
    stack: str,
    *,
    project: Path | None = None,
    secrets: Sequence[tuple[str, str]] = (),
    keep: Path | None = None,
) -> Plan:
    """Preview one stack of the project (default: the working directory) from an empty state.

    `secrets` are (configuration key, value) pairs. `keep`: a folder that receives state, logs and
    the copied stack file; without it nothing stays. One preview at a time per process: the program
    runs in it. Raises UsageError, PreviewFailedError and pulumi_cli.ToolMissingError.
    """
    project = (project or Path.cwd()).resolve()
    _require_stack_file(stack, project)
    cli = pulumi_cli.find()
    recording = Recording()
    started = time.monotonic()
    try:
        with prepared(stack, project=project, cli=cli, secrets=secrets, keep=keep) as rehearsal:
            goals = _run(rehearsal, recording)
    except UnreadableStackError as mistake:
        raise PreviewFailedError(str(mistake)) from mistake
    except FileExistsError as mistake:
        raise UsageError(str(mistake)) from mistake
    except CommandError as failure:
        raise PreviewFailedError(_said(failure)) from failure
    # urn:pulumi:<stack>::<project>::<type>::<name>, of the stack itself at least
    name = next(iter(goals)).split("::")[1]
    plan = recording.plan(name, stack, goals, time.monotonic() - started)
    _refuse_unknown_kinds(plan)
    return plan


def _run(rehearsal: Rehearsal, recording: Recording) -> dict[str, Any]:
    """The preview itself; returns the engine's goals by URN (the events lack dependencies)."""
    goals = rehearsal.place.root / "plan.json"
    try:
        rehearsal.stack.preview(on_event=recording.listen, plan=str(goals))
    except CommandError as failure:
        text = _reason(rehearsal.program, recording.messages) or _said(failure)
        raise PreviewFailedError(text) from failure
    found: dict[str, Any] = json.loads(goals.read_text(encoding="utf-8"))["resourcePlans"]
    return found


def _reason(program: Program, messages: Sequence[Message]) -> str:
    """Why the preview failed, without the engine's and the SDK's wrapping."""
    if program.refusal is not None:
        return program.refusal
    if program.crash is not None:
        return f"{program.crash.rstrip()}\n\nThis is a bug in the program, not in the stack file."
    errors = [message for message in messages if message.severity == "error"]
    for error in errors:
        # An exception inside `apply` ends here: it surfaces after the program's last line.
        if error.text.startswith(_SDK_PREFIX) and program.is_own(error.text):
            trace = error.text.removeprefix(_SDK_PREFIX)
            return f"{trace}\n\nThis is a bug in the program, not in the stack file."
    lines: dict[str, None] = {}
    for error in errors:
        line = error.text.removeprefix(_SDK_PREFIX).splitlines()[0]
        lines[line.removeprefix("Exception calling application: ")] = None
    return "\n".join(lines)


def _said(failure: CommandError) -> str:
    """What the CLI wrote to standard error, without the Automation API's frame."""
    return str(failure).rpartition("\n stderr: ")[2].strip().removeprefix("error: ") or str(failure)


def _require_stack_file(stack: str, project: Path) -> None:
    if not (project / "Pulumi.yaml").is_file():
        raise UsageError(f"{project} has no Pulumi.yaml: run in the project's folder, or name it with --project")
    if (project / f"Pulumi.{stack}.yaml").is_file():
        return
    names = [path.name for path in project.glob("Pulumi.*.yaml")]
    stacks = sorted(name.removeprefix("Pulumi.").removesuffix(".yaml") for name in names)
    known = f"stacks here: {', '.join(stacks)}" if stacks else f"no stack file in {project}"
    raise UsageError(f"Pulumi.{stack}.yaml does not exist; {known}")


def _refuse_unknown_kinds(plan: Plan) -> None:
    """With an unknown kubeconfig the engine asks no provider, so nobody has refused these yet."""
    for resource in plan.resources:
        if resource.type.startswith("kubernetes:"):
            try:
                kubernetes.find(resource.type)
            except LookupError as refusal:
                raise PreviewFailedError(f"{resource.urn}: {refusal.args[0]}") from None
