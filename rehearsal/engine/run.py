"""One run of the engine for a command: from what was asked for to a result, or one message for the user."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

from pulumi.automation import CommandError

from rehearsal.engine.program import Program
from rehearsal.engine.scratch import StateRefusedError
from rehearsal.engine.stack import Rehearsal, prepared
from rehearsal.engine.stackfile import UnreadableStackError
from rehearsal.plan.findings import Finding, violations
from rehearsal.plan.plan import STACK_TYPE, Message, Recording
from rehearsal.providers.journal import Journal
from rehearsal.toolchain import pulumi_cli

_SDK_PREFIX = "python inline source runtime error: "
# What engine and SDK put around a reason that they pass on.
_FRAMES = (_SDK_PREFIX, "an unhandled error occurred: ", "Exception calling application: ")
# What they conclude from it, or what something says that waited for a value which has failed: no reasons.
_CONCLUSIONS = frozenset(
    {"preview failed", "update failed", "Resource monitor has terminated, shutting down", "invalid state"}
)

Result = TypeVar("Result")


class UsageError(Exception):
    """What was asked for cannot be rehearsed: no such stack file, a secret that is missing."""


class RunFailedError(Exception):
    """The run did not go through; the message is what the user should read, nothing else."""


class PoliciesViolatedError(RunFailedError):
    """The policy pack has stopped the run."""

    def __init__(self, findings: Sequence[Finding]) -> None:
        self.findings = findings
        super().__init__(violations(findings))


@contextmanager
def rehearsed(
    stack: str,
    *,
    project: Path | None,
    secrets: Sequence[tuple[str, str]] = (),
    state: Path | None = None,
    journal: Journal | None = None,
    killed: bool = False,
    standing: bool = False,
    packs: bool = False,
) -> Iterator[Rehearsal]:
    """A stack of the project (default: the working directory), ready on the engine.

    As `prepared`, with what the user can get wrong as UsageError or RunFailedError. Raises
    pulumi_cli.ToolMissingError too.
    """
    folder = (project or Path.cwd()).resolve()
    _require_stack_file(stack, folder)
    cli = pulumi_cli.find()
    try:
        with prepared(
            stack,
            project=folder,
            cli=cli,
            secrets=secrets,
            state=state,
            journal=journal,
            killed=killed,
            standing=standing,
            packs=packs,
        ) as rehearsal:
            yield rehearsal
    except UnreadableStackError as mistake:
        raise RunFailedError(str(mistake)) from mistake
    except StateRefusedError as mistake:
        raise UsageError(str(mistake)) from mistake
    except CommandError as failure:
        raise RunFailedError(_said(failure)) from failure


def attempt(rehearsal: Rehearsal, recording: Recording, action: Callable[[], Result]) -> Result:
    """What `action` returns. Raises RunFailedError, saying why the engine gave up."""
    try:
        return action()
    except CommandError as failure:
        if any(it.level == "mandatory" for it in recording.findings):
            raise PoliciesViolatedError(recording.findings) from failure
        text = _reason(rehearsal.program, recording.messages) or _said(failure)
        # the engine says that a pack did not start, and not why
        text = "\n".join([text, *rehearsal.complaints])
        raise RunFailedError(text) from failure


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
    # A dict keeps the order and drops what is said twice.
    return "\n".join(dict.fromkeys(line for error in errors for line in _line(error)))


def _line(error: Message) -> Iterator[str]:
    """The first paragraph of an error on one line, with the URN that it is about."""
    text = error.text
    for frame in _FRAMES:
        text = text.removeprefix(frame)
    line = " ".join(itertools.takewhile(str.strip, text.splitlines()))
    if line in _CONCLUSIONS:
        return
    if error.urn is None or error.urn in line or _is_stack(error.urn):
        yield line
    else:
        yield f"{error.urn}: {line}"


def _is_stack(urn: str) -> bool:
    return f"::{STACK_TYPE}::" in urn


def _said(failure: CommandError) -> str:
    """What the CLI wrote to standard error, without the Automation API's frame."""
    return str(failure).rpartition("\n stderr: ")[2].strip().removeprefix("error: ") or str(failure)


def _require_stack_file(stack: str, project: Path) -> None:
    if "/" in stack:
        raise UsageError(f"--stack {stack}: a name, not a path")
    if not (project / "Pulumi.yaml").is_file():
        raise UsageError(f"{project} has no Pulumi.yaml: run in the project's folder, or name it with --project")
    if (project / f"Pulumi.{stack}.yaml").is_file():
        return
    names = [path.name for path in project.glob("Pulumi.*.yaml")]
    stacks = sorted(name.removeprefix("Pulumi.").removesuffix(".yaml") for name in names)
    known = f"stacks here: {', '.join(stacks)}" if stacks else f"no stack file in {project}"
    raise UsageError(f"Pulumi.{stack}.yaml does not exist; {known}")
