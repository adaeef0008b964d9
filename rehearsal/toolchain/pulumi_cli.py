"""The Pulumi CLI: from PATH, from the cache, downloaded, or built from source; in that order."""

from __future__ import annotations

from pathlib import Path

from rehearsal.toolchain import download, executable
from rehearsal.toolchain.executable import Executable, ToolMissingError

__all__ = ["Executable", "ToolMissingError", "find", "pinned_version"]

_MODULE = Path(__file__).with_name("pulumi")
# Older CLIs lack parts of the protocol that the pinned SDK (3.272.0) and the providers speak.
_OLDEST = (3, 272, 0)


def pinned_version(module: Path = _MODULE) -> str:
    """The CLI version that is downloaded or built: the one that `go.mod` pins."""
    return executable.required_version(module, "github.com/pulumi/pulumi/pkg/v3")


def find() -> Executable:
    """A CLI that fits. Raises ToolMissingError."""
    version = pinned_version()
    program = executable.Program(
        name="pulumi",
        title="the Pulumi CLI",
        version=version,
        asks="version",
        says="",
        oldest=_OLDEST,
        below=(_OLDEST[0] + 1,),
        module=_MODULE,
        package="github.com/pulumi/pulumi/pkg/v3/cmd/pulumi",
        # The CLI does not know its version otherwise, and the Automation API refuses it.
        ldflags=f"-s -w -X github.com/pulumi/pulumi/sdk/v3/go/common/version.Version=v{version}",
        minutes="4 to 10",
    )
    return executable.find(program, download.pulumi)
