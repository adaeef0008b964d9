"""kwok, which plays kubelets: from PATH, from the cache, or built from source.

Its official download is not used: that host cannot be reached from where this was written, so no checksum of it.
"""

from __future__ import annotations

from pathlib import Path

from rehearsal.toolchain import executable

MODULE = Path(__file__).parent
PACKAGE = "sigs.k8s.io/kwok"


def find() -> executable.Executable:
    """A kwok that fits and runs. Raises ToolMissingError."""
    version = executable.required_version(MODULE, PACKAGE)
    major, minor, _ = map(int, version.split("."))
    program = executable.Program(
        name="kwok",
        title="kwok",
        version=version,
        asks="--version",
        says="kwok version v",
        # Its own API is v1alpha1.
        oldest=(major, minor, 0),
        below=(major, minor + 1),
        module=MODULE,
        package=f"{PACKAGE}/cmd/kwok",
        ldflags="-s -w",
        minutes="1 to 3",
    )
    return executable.sound(program, executable.find(program))
