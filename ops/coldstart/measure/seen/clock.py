"""Times of the API: whose clock they are of, and how far two clocks are apart."""

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

APART = 2.0
"""Seconds from which on two clocks are called apart. The times that they are compared by are good to one second."""


def moment(text: str) -> float:
    """Return a time of the API in seconds since 1970.

    Most are cut to whole seconds (`metav1.Time`): of those the middle of the second, so that none is off by more than
    half a one, beside times that have microseconds too.

    Raises:
        ValueError: it is none.
    """
    return datetime.fromisoformat(text).timestamp() + (0.0 if "." in text else 0.5)


def skew(leases: Iterable[Mapping[str, Any]]) -> float | None:
    """Return the seconds by which a node's clock is ahead of the API server's; None: unknown.

    kubelet writes the time of its own clock into its lease (`renewTime`, with microseconds) every ten seconds, and the
    API server notes by its own when that was written (`managedFields`, cut to whole seconds). So one lease tells it to
    half a second, and several, which were cut at other places, tell it better.

    Args:
        leases: of the node, in the namespace kube-node-lease, as it was at several times.
    """
    known = [found for lease in leases if (found := _ahead(lease)) is not None]
    if not known:
        return None
    least, most = max(it - 1 for it in known), min(known)
    # a clock that was set in between: the last one counts
    return (least + most) / 2 if least <= most else known[-1] - 0.5


def _ahead(lease: Mapping[str, Any]) -> float | None:
    """Return what a lease says at most: nothing is cut off where it is so."""
    renewed = (lease.get("spec") or {}).get("renewTime")
    noted = [it["time"] for it in lease["metadata"].get("managedFields") or () if "time" in it]
    if renewed is None or not noted:
        return None
    return moment(renewed) - max(map(moment, noted)) + 0.5
