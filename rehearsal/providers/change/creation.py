"""Making a resource: its id, its outputs, and what stands in its way."""

from __future__ import annotations

import functools
import hashlib
import itertools
from typing import Any

from rehearsal.providers.change.unique import refuse_overwriting
from rehearsal.providers.outputs import merged
from rehearsal.providers.package import Birth, Instance, Kind, Made
from rehearsal.providers.store import Store
from rehearsal.providers.values import SIGNATURE, UNKNOWN, Properties, reveal


def create(
    kind: Kind, store: Store, *, token: str, urn: str, logical: str, instance: Instance, inputs: Properties
) -> Made:
    """Put a new resource into `store`; its id and all its outputs.

    Raises ConflictError when the cloud would refuse it. An existing resource with the same id is
    overwritten where the cloud does that too (IAM attachments, parts of a bucket).
    """
    existing = store.all(token) if kind.unique else {}
    for rule in kind.unique:
        rule.refuse(inputs, existing)
    made = _made(kind, store, token, urn, logical, instance, inputs)
    there = store.get(token, made.id) if kind.applied else None
    if there is not None:
        refuse_overwriting(made.id, inputs, there)
    outputs = merged(inputs, made.outputs if there is None else there)
    store.put(token, made.id, outputs)
    return Made(id=made.id, outputs=outputs)


def foreseen(kind: Kind, inputs: Properties) -> Properties:
    """The outputs of a create in a preview: `inputs`, and what the cloud will add inside their objects as unknown."""
    outputs = merged(inputs, {})
    for path in kind.unknown_inside:
        *parents, leaf = path.split(".")
        target: Any = outputs
        for parent in parents:
            target = target.get(parent) if isinstance(target, dict) else None
        if isinstance(target, dict) and SIGNATURE not in target:
            target.setdefault(leaf, UNKNOWN)
    return outputs


def _made(kind: Kind, store: Store, token: str, urn: str, logical: str, instance: Instance, inputs: Properties) -> Made:
    # A replacement lives next to what it replaces for a while, so generated ids must not
    # collide. Anything else is the same in every run, which keeps outputs comparable.
    taken = ""
    for attempt in itertools.count():
        made = kind.make(
            Birth(
                instance=instance,
                logical=logical,
                inputs=reveal(inputs),
                digits=functools.partial(_digits, f"{urn}#{attempt}"),
            )
        )
        if made.id == taken or store.get(token, made.id) is None:
            return made
        taken = made.id
    raise AssertionError("count never ends")


def _digits(seed: str, count: int) -> str:
    text = ""
    while len(text) < count:
        text += hashlib.sha256(f"{seed}{len(text)}".encode()).hexdigest()
    return text[:count]
