"""How the inputs of a resource and its outputs go together."""

from __future__ import annotations

import copy

from rehearsal.providers.values import SIGNATURE, Properties


def as_given(outputs: Properties, given: Properties) -> Properties:
    """What is there now, of the properties that the program gives: no computed ones."""
    found = {key: outputs[key] for key in given if key in outputs}
    for key, value in given.items():
        # Tags are free-form: one that somebody added is a change to show.
        if isinstance(value, dict) and isinstance(found.get(key), dict) and key not in {"tags", "tagsAll"}:
            found[key] = as_given(found[key], value)
    return found


def computed_part(outputs: Properties, given: Properties) -> Properties:
    """What the cloud added to the inputs `given`, at any depth of objects (not inside lists)."""
    found: Properties = {}
    for key, value in outputs.items():
        own = given.get(key)
        if own is None:
            found[key] = value
        elif isinstance(value, dict) and isinstance(own, dict) and SIGNATURE not in value and SIGNATURE not in own:
            inner = computed_part(value, own)
            if inner:
                found[key] = inner
    return found


def merged(inputs: Properties, computed: Properties) -> Properties:
    """`inputs` plus `computed`; objects are merged, what the program gave wins."""
    both = copy.deepcopy(inputs)
    for key, value in computed.items():
        present = both.get(key)
        if isinstance(present, dict) and isinstance(value, dict) and SIGNATURE not in present:
            both[key] = merged(present, value)
        elif present is None:
            both[key] = copy.deepcopy(value)
    return both
