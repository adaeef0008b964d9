"""The Pulumi engine on a scratch copy of a stack, with the offline providers attached."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, cast

from pulumi import automation
from pulumi.automation.errors import create_command_error
from semver import VersionInfo

from rehearsal.program import Program
from rehearsal.providers import aws, eks, kubernetes
from rehearsal.providers.serve import debug_providers, serving
from rehearsal.providers.store import InProcessStore, Store
from rehearsal.scratch import Scratch, copy_stack, only_environment, scratch
from rehearsal.toolchain.pulumi_cli import Executable

# An interrupted CLI gets this long to end by itself before it is killed, in seconds.
_PATIENCE = 3.0


class Cli(automation.PulumiCommand):
    """The Pulumi CLI with an environment of its own, and no process left when it is stopped.

    The Automation API's own command runs `pulumi version` at each start (0.3 s), hands down the
    user's environment and forgets the process when Python is interrupted.
    """

    def __init__(self, executable: Executable, environment: Mapping[str, str]) -> None:
        # The parent's constructor would run the CLI only to learn the version we know.
        self.command = str(executable.path)
        self.version = VersionInfo.parse(executable.version)
        self._environment = dict(environment)

    def run(
        self,
        args: list[str],
        cwd: str,
        additional_env: Mapping[str, str],
        on_output: Callable[[str], object] | None = None,
        on_error: Callable[[str], object] | None = None,
    ) -> automation.CommandResult:
        """As the parent's: raises CommandError when the CLI fails."""
        command = [self.command, "--non-interactive", *args]
        # The parent is a session of its own: Ctrl-C reaches Python, which then stops the CLI.
        with subprocess.Popen(  # noqa: S603 - our CLI, arguments from the Automation API
            command,
            cwd=cwd,
            env={**self._environment, **additional_env, "PULUMI_AUTOMATION_API": "true"},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            encoding="utf-8",
            start_new_session=True,
        ) as process:
            try:
                stdout, stderr = _drain(process, on_output, on_error)
            except BaseException:
                _stop(process)
                raise
        result = automation.CommandResult(stdout=stdout, stderr=stderr, code=process.returncode)
        if result.code != 0:
            raise create_command_error(result)
        return result


def _drain(
    process: subprocess.Popen[str],
    on_output: Callable[[str], object] | None,
    on_error: Callable[[str], object] | None,
) -> tuple[str, str]:
    lines: tuple[list[str], list[str]] = ([], [])

    def read(stream: IO[str], kept: list[str], report: Callable[[str], object] | None) -> None:
        for line in stream:
            kept.append(line.rstrip())
            if report is not None:
                report(kept[-1])

    readers = [
        threading.Thread(target=read, args=arguments, daemon=True)
        for arguments in (
            (cast("IO[str]", process.stdout), lines[0], on_output),
            (cast("IO[str]", process.stderr), lines[1], on_error),
        )
    ]
    for reader in readers:
        reader.start()
    for reader in readers:
        reader.join()
    process.wait()
    return "\n".join(lines[0]), "\n".join(lines[1])


def _stop(process: subprocess.Popen[str]) -> None:
    """End the CLI and everything that it started."""
    for number in (signal.SIGINT, signal.SIGKILL):
        try:
            os.killpg(process.pid, number)
            process.wait(timeout=_PATIENCE)
        except subprocess.TimeoutExpired:
            continue
        except ProcessLookupError:
            return


@dataclass(frozen=True, kw_only=True)
class Rehearsal:
    """A stack that is ready to be previewed (and later brought up) on the real engine."""

    stack: automation.Stack
    program: Program
    place: Scratch


@contextmanager
def prepared(
    stack: str,
    *,
    project: Path,
    cli: Executable,
    secrets: Sequence[tuple[str, str]] = (),
    store: Store | None = None,
    keep: Path | None = None,
) -> Iterator[Rehearsal]:
    """Set up scratch folder, providers, environment and stack; take all down at the end.

    One at a time per process, because the program runs in this process and reads its environment.
    Raises UnreadableStackError, and CommandError when the CLI refuses the stack file.
    """
    packages = {package.name: package for package in (aws.package(), eks.package(), kubernetes.package())}
    program = Program(project=project)
    with scratch(keep=keep) as place, serving(packages, store or InProcessStore()) as ports:
        copy_stack(stack, project, place, [path for path, _ in secrets])
        environment = place.environment(os.environ)
        attached = {**environment, "PULUMI_DEBUG_PROVIDERS": debug_providers(ports)}
        with only_environment(environment), program.imported_here():
            workspace = automation.LocalWorkspace(
                work_dir=str(place.work),
                program=program.run,
                pulumi_command=Cli(cli, attached),
            )
            handle = automation.Stack.create(stack, workspace)
            for path, value in secrets:
                handle.set_config(path, automation.ConfigValue(value, secret=True), path=True)
            yield Rehearsal(stack=handle, program=program, place=place)
