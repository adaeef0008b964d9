"""The Pulumi engine on a scratch copy of a stack, with the offline providers attached."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from pulumi import automation

from rehearsal.engine import policy_host
from rehearsal.engine.command import Cli
from rehearsal.engine.program import Program
from rehearsal.engine.scratch import Scratch, StateRefusedError, copy_stack, only_environment, scratch
from rehearsal.providers import aws, eks, kubernetes
from rehearsal.providers.journal import Journal
from rehearsal.providers.serve import debug_providers, serving
from rehearsal.providers.store import FileStore
from rehearsal.toolchain.pulumi_cli import Executable


@dataclass(frozen=True, kw_only=True)
class Rehearsal:
    """A stack that is ready to be previewed, brought up and destroyed on the real engine."""

    stack: automation.Stack
    program: Program
    place: Scratch
    cloud: FileStore
    journal: Journal
    unrecovered: Path
    """Is there from the beginning of a recovery to its end."""
    complaints: Sequence[str]
    """Of policy packs that ended badly."""


@contextmanager
def prepared(
    stack: str,
    *,
    project: Path,
    cli: Executable,
    secrets: Sequence[tuple[str, str]] = (),
    state: Path | None = None,
    journal: Journal | None = None,
    killed: bool = False,
    standing: bool = False,
    packs: bool = False,
) -> Iterator[Rehearsal]:
    """Set up scratch folder, providers, environment and stack; take all down at the end.

    `state`: a folder in which the stack and its offline cloud live on from one rehearsal to the
    next, and other projects' stacks beside it; without it everything starts from nothing and is
    forgotten. `killed`: go on although the last rehearsal in it was killed. `standing`: the
    folder must hold the stack already. `packs`: policy packs can be run. One at a time per process,
    because the program runs in this process and reads its environment.
    Raises UnreadableStackError, StateRefusedError, and CommandError when the CLI refuses the stack file.
    """
    packages = {package.name: package for package in (aws.package(), eks.package(), kubernetes.package())}
    program = Program(project=project)
    watching = journal or Journal()
    with ExitStack() as stays:
        place = stays.enter_context(scratch(state=state, standing=standing))
        cloud = stays.enter_context(_opened(place, keep=state is not None))
        ports = stays.enter_context(serving(packages, cloud, watching))
        copy_stack(stack, project, place, [path for path, _ in secrets])
        environment = place.environment(os.environ)
        attached = {"PULUMI_DEBUG_PROVIDERS": debug_providers(ports)}
        complaints: list[str] = []
        if packs:
            attached["PULUMI_DEBUG_LANGUAGES"] = f"python:{stays.enter_context(policy_host.serving(complaints))}"
        command = Cli(cli, {**environment, **attached})
        stays.enter_context(only_environment(environment))
        stays.enter_context(program.imported_here())
        workspace = automation.LocalWorkspace(work_dir=str(place.work), program=program.run, pulumi_command=command)
        name = workspace.project_settings().name
        unrecovered = place.root / f"{name}.{stack}.unrecovered"
        # Ours is the only rehearsal in this folder: a lock of the backend is of one that was killed.
        locks = place.state.glob(f".pulumi/locks/organization/{name}/{stack}/*.json")
        if not killed and (unrecovered.exists() or any(locks)):
            raise StateRefusedError(
                f"a rehearsal in {place.root} was killed: run `python -m rehearsal recover --stack {stack} "
                f"--project {project} --state {place.root}` first (docs/recovery.md says what that does)"
            )
        known = place.state / ".pulumi" / "stacks" / name / f"{stack}.json"
        if standing and not known.exists():
            raise StateRefusedError(f"{place.root} holds no stack {name}/{stack}")
        if state is None:
            handle = automation.Stack.create(stack, workspace)
        else:
            handle = automation.Stack.create_or_select(stack, workspace)
        for path, value in secrets:
            handle.set_config(path, automation.ConfigValue(value, secret=True), path=True)
        yield Rehearsal(
            stack=handle,
            program=program,
            place=place,
            cloud=cloud,
            journal=watching,
            unrecovered=unrecovered,
            complaints=complaints,
        )


@contextmanager
def _opened(place: Scratch, *, keep: bool) -> Iterator[FileStore]:
    """The offline cloud, of its own or what earlier rehearsals have left in the folder."""
    if keep and not place.cloud.exists() and any(place.state.glob(".pulumi/stacks/*/*.json")):
        raise StateRefusedError(f"{place.cloud} is missing: the stacks in {place.root} have lost their cloud")
    try:
        opened = FileStore.opened(place.cloud if keep else None)
        with opened as cloud:
            yield cloud
    except sqlite3.Error as damage:
        raise StateRefusedError(f"{place.cloud} is damaged: {damage}") from damage
