"""How one AWS resource type takes a change, and where that is known from."""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path as File
from typing import Any

from rehearsal.providers.change.compare import Difference
from rehearsal.providers.change.paths import Path, parse

CREATE_ONLY = File(__file__).with_name("create_only.json")
"""CloudFormation type to its createOnlyProperties, made by `extract.py`."""


@dataclass(frozen=True, kw_only=True)
class Rule:
    """What replaces a resource: the createOnlyProperties of its CloudFormation type, corrected.

    Everything else updates in place. Paths are of inputs, in the AWS provider's names.
    """

    schema: str | None = None
    """CloudFormation type; None when it has none, or one that says nothing about the AWS provider's."""
    names: Mapping[str, str | None] = field(default_factory=dict)
    """Properties of the schema (`A/B`) that are called otherwise here; None: there is no such input.
    Without an entry `CidrBlock` is `cidrBlock`."""
    replaces: tuple[str, ...] = ()
    """Inputs that replace beyond the schema."""
    updates: tuple[str, ...] = ()
    """Inputs that the schema calls create-only and the AWS provider updates."""
    replaces_when: Mapping[str, tuple[Difference, ...]] = field(default_factory=dict)
    """Inputs of which only some differences replace."""
    sets: tuple[str, ...] = ()
    """Lists without order."""
    keeps: tuple[str, ...] = ()
    """Optional inputs that AWS fills in itself: to leave one out again changes nothing (Optional and
    Computed in Terraform's schema)."""
    defaults: Mapping[str, Any] = field(default_factory=dict)
    """What the AWS provider takes for inputs left out: to write one of these out changes nothing."""

    @functools.cached_property
    def from_schema(self) -> dict[str, str | None]:
        """Each create-only property of the schema to the input of that meaning, or None.

        Raises LookupError when the data file lacks the schema.
        """
        if self.schema is None:
            return {}
        types = _types()
        if self.schema not in types:
            raise LookupError(f"{CREATE_ONLY.name} lacks {self.schema}: run python -m {__package__}.extract")
        return {path: self.names.get(path, _input_name(path)) for path in types[self.schema]}

    @functools.cached_property
    def forcing(self) -> frozenset[Path]:
        """The places that replace the resource, `region` of regional types among them."""
        # A resource cannot move: forceNewIfRegionChanges [sdkv2/region.go of terraform-provider-aws].
        names = {name for name in self.from_schema.values() if name is not None} - {*self.updates}
        return frozenset(parse(name) for name in (*names, *self.replaces, "region"))

    @functools.cached_property
    def forcing_when(self) -> dict[Path, tuple[Difference, ...]]:
        """As `replaces_when`, parsed."""
        return {parse(path): differences for path, differences in self.replaces_when.items()}


@functools.cache
def _types() -> dict[str, list[str]]:
    found: dict[str, list[str]] = json.loads(CREATE_ONLY.read_text())["types"]
    return found


def _input_name(path: str) -> str:
    return ".".join(step[:1].lower() + step[1:] for step in path.split("/"))
