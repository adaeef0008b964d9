"""Helm, which renders the charts that the program installs: from PATH, from the cache, or built from source.

Of the major version that the Kubernetes provider has built in. The official download is not used: that host cannot be
reached from where this was written, so no checksum of it.
"""

from __future__ import annotations

from pathlib import Path

from rehearsal.toolchain import executable

MODULE = Path(__file__).parent


def find() -> executable.Executable:
    """A helm that fits and runs. Raises ToolMissingError."""
    version = executable.required_version(MODULE, "helm.sh/helm/v3")
    program = executable.Program(
        name="helm",
        title="helm",
        version=version,
        asks="version --short",
        says="",
        oldest=(3, 18, 0),
        below=(4,),
        module=MODULE,
        package="helm.sh/helm/v3/cmd/helm",
        # It reports v3.22 otherwise.
        ldflags=f"-s -w -X helm.sh/helm/v3/internal/version.version=v{version}",
        minutes="1 to 3",
    )
    return executable.sound(program, executable.find(program))
