"""Changing a resource in place: what stays of its computed outputs, what becomes of the rest."""

from __future__ import annotations

from rehearsal.providers.outputs import computed_part, merged
from rehearsal.providers.package import Kind, Revision
from rehearsal.providers.values import Properties, reveal


def update(kind: Kind, *, outputs: Properties, given: Properties, news: Properties, preview: bool) -> Properties:
    """The outputs after an update: `news`, and what the cloud had computed beside `given`, at any depth.

    In a preview, outputs that only the update decides are unknown; the others keep their values, or
    everything that depends on them would seem to change. Raises RefusedError when the cloud refuses
    the change.
    """
    revised: Properties = {}
    if kind.revise is not None:
        olds, wanted = reveal(given), reveal(news)
        changed = frozenset(key for key in olds.keys() | wanted.keys() if olds.get(key) != wanted.get(key))
        revised = kind.revise(Revision(outputs=reveal(outputs), news=wanted, changed=changed, preview=preview))
    return {**merged(news, computed_part(outputs, given)), **revised}
