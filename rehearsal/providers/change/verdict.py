"""Whether a change updates a resource or replaces it, and what the engine is told about it."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from rehearsal.providers.change.compare import Changes, Difference
from rehearsal.providers.change.paths import Path, holds, is_within, parse, written


@dataclass(frozen=True, kw_only=True)
class Detail:
    """One property that differs, and whether the resource cannot live with the change."""

    difference: Difference
    replaces: bool

    @property
    def word(self) -> str:
        """Its name in `PropertyDiff.Kind` of the resource protocol, as `UPDATE_REPLACE`."""
        return f"{self.difference.name}_REPLACE" if self.replaces else self.difference.name


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """The answer to Diff and DiffConfig. No value is in it, only places: values may be secret."""

    details: Mapping[str, Detail] = field(default_factory=dict)
    """Property path to what happens there; empty: nothing changes."""
    replaces: tuple[str, ...] = ()
    """Properties that force a replacement, sorted. Written as the real provider writes them: aws
    names top-level properties, kubernetes whole paths."""
    delete_first: bool = False
    """The old resource must go before the new one can be made."""

    @property
    def changed(self) -> tuple[str, ...]:
        """Names of the top-level properties that differ, sorted."""
        return top_level(self.details)


def details(
    changes: Changes, forcing: Collection[Path], forcing_when: Mapping[Path, Collection[Difference]] | None = None
) -> dict[str, Detail]:
    """Weigh `changes`: one at, below or around a place in `forcing` replaces the resource.

    "Around": an object that comes or goes with such a place inside. `forcing_when`: places where
    only some differences replace it. A place whose new value is unknown counts as changed.
    """
    found: dict[str, Detail] = {}
    for path, change in changes.items():
        forced = any(is_within(path, place) or holds(path, change.value, place) for place in forcing)
        for place, differences in (forcing_when or {}).items():
            forced = forced or (change.difference in differences and is_within(path, place))
        found[written(path)] = Detail(difference=change.difference, replaces=forced)
    return found


def top_level(places: Collection[str]) -> tuple[str, ...]:
    """The top-level property names of property paths, sorted, each once."""
    return tuple(sorted({str(parse(place)[0]) for place in places}))


def replacing(found: Mapping[str, Detail]) -> tuple[str, ...]:
    """The paths in `found` that replace the resource, sorted."""
    return tuple(sorted(path for path, detail in found.items() if detail.replaces))
