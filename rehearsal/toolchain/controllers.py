"""kube-controller-manager and kube-scheduler, of the API server's own release: from PATH, the cache, or the source."""

from __future__ import annotations

from rehearsal.toolchain.executable import Executable
from rehearsal.toolchain.kube_apiserver import of_kubernetes


def find_controller_manager() -> Executable:
    """A kube-controller-manager that fits and runs. Raises ToolMissingError."""
    return of_kubernetes("kube-controller-manager", minutes="1 to 5")


def find_scheduler() -> Executable:
    """A kube-scheduler that fits and runs. Raises ToolMissingError."""
    return of_kubernetes("kube-scheduler", minutes="1 to 3")
