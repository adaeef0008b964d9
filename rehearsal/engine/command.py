"""The Pulumi CLI as the Automation API runs it here."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
from collections.abc import Callable, Mapping
from typing import IO, cast

from pulumi import automation
from pulumi.automation.errors import create_command_error
from semver import VersionInfo

from rehearsal.toolchain.pulumi_cli import Executable, ToolMissingError

# An interrupted CLI gets this long to end by itself before it is killed, in seconds.
_PATIENCE = 10.0
_AGAIN = "delete this file and run again"


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
        """As the parent's: raises CommandError when the CLI fails. ToolMissingError when it is damaged."""
        command = [self.command, "--non-interactive", *args]
        # The parent is a session of its own: Ctrl-C reaches Python, which then stops the CLI.
        try:
            process = subprocess.Popen(  # noqa: S603 - our CLI, arguments from the Automation API
                command,
                cwd=cwd,
                env={**self._environment, **additional_env, "PULUMI_AUTOMATION_API": "true"},
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                encoding="utf-8",
                start_new_session=True,
            )
        except OSError as failure:
            raise ToolMissingError(f"{self.command} does not run ({failure.strerror}): {_AGAIN}") from failure
        with process:
            try:
                stdout, stderr = _drain(process, on_output, on_error)
            except BaseException:
                _stop(process)
                raise
        if process.returncode == -signal.SIGSEGV:
            raise ToolMissingError(f"{self.command} does not run (segmentation fault): {_AGAIN}")
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
