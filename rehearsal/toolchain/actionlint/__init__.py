"""actionlint, which reads workflows as GitHub does: from PATH, from the cache, or built from source.

Its official download is not used: that host cannot be reached from where this was written, so no checksum of it.
"""

from __future__ import annotations

from pathlib import Path

from rehearsal.toolchain import executable

MODULE = Path(__file__).parent
_PACKAGE = "github.com/rhysd/actionlint"


def find() -> executable.Executable:
    """An actionlint that fits and runs. Raises ToolMissingError."""
    version = executable.required_version(MODULE, _PACKAGE)
    major, minor, _ = map(int, version.split("."))
    program = executable.Program(
        name="actionlint",
        title="actionlint",
        version=version,
        asks="-version",
        says="",
        oldest=(major, minor, 12),
        below=(major, minor + 1),
        module=MODULE,
        package=f"{_PACKAGE}/cmd/actionlint",
        # It says "(devel)" otherwise.
        ldflags=f"-s -w -X {_PACKAGE}.version={version}",
        minutes="1",
    )
    return executable.sound(program, executable.find(program))
