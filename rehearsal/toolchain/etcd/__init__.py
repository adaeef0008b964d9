"""etcd, the API server's store: from PATH, from the cache, or built from source.

Its official download is not used: that host cannot be reached from where this was written, so no checksum of it.
"""

from __future__ import annotations

from pathlib import Path

from rehearsal.toolchain import executable

MODULE = Path(__file__).parent
_PACKAGE = "go.etcd.io/etcd/server/v3"


def find() -> executable.Executable:
    """An etcd that fits and runs. Raises ToolMissingError."""
    program = executable.Program(
        name="etcd",
        title="etcd",
        version=executable.required_version(MODULE, _PACKAGE),
        asks="--version",
        says="etcd Version: ",
        oldest=(3, 6, 0),
        below=(4,),
        module=MODULE,
        package=_PACKAGE,
        ldflags="-s -w",
        minutes="1 to 3",
    )
    return executable.sound(program, executable.find(program))
