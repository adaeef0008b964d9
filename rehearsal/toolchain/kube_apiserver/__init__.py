"""kube-apiserver: from PATH when it is of the pinned minor version, from the cache, or built from source.

Its official download is not used: that host cannot be reached from where this was written, so no checksum of it.
The module builds the controllers of the same release too (`rehearsal.toolchain.controllers`).
"""

from __future__ import annotations

from pathlib import Path

from rehearsal.toolchain import executable

MODULE = Path(__file__).parent


def find() -> executable.Executable:
    """A kube-apiserver that fits and runs. Raises ToolMissingError."""
    return of_kubernetes("kube-apiserver", minutes="3 to 8")


def of_kubernetes(name: str, *, minutes: str) -> executable.Executable:
    """A program of Kubernetes that fits and runs. Raises ToolMissingError.

    `name`: of its main package below `k8s.io/kubernetes/cmd`. `minutes`: that a build takes.
    """
    version = executable.required_version(MODULE, "k8s.io/kubernetes")
    major, minor, _ = map(int, version.split("."))
    stamp = "-X k8s.io/component-base/version.git"
    program = executable.Program(
        name=name,
        title=name,
        version=version,
        asks="--version",
        says="Kubernetes ",
        # Another minor version validates other fields and defaults others.
        oldest=(major, minor, 0),
        below=(major, minor + 1),
        module=MODULE,
        package=f"k8s.io/kubernetes/cmd/{name}",
        # It reports v0.0.0 otherwise.
        ldflags=f"-s -w {stamp}Version=v{version} {stamp}Major={major} {stamp}Minor={minor}",
        minutes=minutes,
    )
    return executable.sound(program, executable.find(program))
