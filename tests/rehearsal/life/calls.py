"""Calls that the engine made on the offline cloud, in their order."""

from collections.abc import Sequence

from rehearsal.providers.journal import Call


def positions(calls: Sequence[Call], *prefixes: str) -> list[int]:
    """Where the calls on these kinds stand: at least one, or a comparison would prove nothing."""
    found = [index for index, call in enumerate(calls) if call.type.startswith(prefixes)]
    assert found, f"no call on {prefixes}"
    return found
