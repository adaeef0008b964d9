"""What `ops cache prune` may remove, after everybody who may use it was asked."""

from collections.abc import Callable
from pathlib import Path

from ops.cache.prune import UNUSED, Doomed, doomed, spared
from ops.cache.users import neighbours, running
from ops.failures import Failure, RefusedError, UnclearError
from ops.stack.stack_file import Stack

OFFLINE = "--offline: what runs in the cluster was not looked at"


def in_use_spared(
    stack: Stack, *, unused: bool, offline: bool, kubeconfig: Path | None, say: Callable[[str], object]
) -> tuple[list[Doomed], list[str]]:
    """Return what nobody uses, and lines about what was kept, or not looked at.

    The cluster is asked only when a whole cache would go: an archive that no manifest names is restored by nobody.

    Args:
        stack: its bucket and cluster.
        unused: also whole caches.
        offline: without the cluster.
        kubeconfig: leads to the cluster, instead of EKS.
        say: is told what is going on.

    Raises:
        RefusedError: a stack file of this folder cannot be read, so that nobody knows what its servers use.
        UnclearError: S3 or the cluster does not tell.
    """
    others, unread = neighbours(stack)
    found = doomed(stack, others, unused=unused, say=say)
    if not any(it.why == UNUSED for it in found):
        return found, []
    if unread:
        raise RefusedError("\n".join(f"nothing is removed, its servers may use it: {line}" for line in unread))
    if offline:
        return found, [OFFLINE]
    # the client of the API is heavy, and most calls come here never
    from ops.cluster.access import connected  # noqa: PLC0415

    say("what runs in the cluster")
    try:
        return spared(found, running(connected(stack, kubeconfig), stack))
    except Failure as failure:
        why = str(failure).rstrip(".")
        raise UnclearError(
            f"nothing is removed, what runs in the cluster nobody tells: {why}; --offline goes by the stack files alone"
        ) from None
