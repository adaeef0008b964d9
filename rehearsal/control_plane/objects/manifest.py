"""What goes into an admission, and what comes out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, kw_only=True)
class Manifest:
    """One Kubernetes object and the Pulumi resource that it comes from."""

    urn: str
    body: Mapping[str, Any]
    """As `kubectl` would send it: apiVersion, kind, metadata and so on. Pulumi's secret wrappers may be left in:
    what is inside goes to the API server and into no message."""


@dataclass(frozen=True, kw_only=True)
class Admitted:
    """An object that the API server takes."""

    urn: str
    kind: str
    """`Pod of <kind>` for the pod that was made from a workload's template."""
    name: str
    """`namespace/name`, or the name alone for kinds without namespace."""
    warnings: tuple[str, ...]
    """What the API server had to say all the same."""


@dataclass(frozen=True, kw_only=True)
class Refusal:
    """An object that the API server, or we before it, refused."""

    urn: str
    kind: str
    name: str
    message: str
    """The server's own words, on one line."""

    @property
    def line(self) -> str:
        """For the user."""
        return f"{self.urn}: {self.kind} {self.name}: {self.message}"


@dataclass(frozen=True, kw_only=True)
class Report:
    """The verdict over all objects, in their order; the pod of a workload follows it."""

    admitted: tuple[Admitted, ...]
    refusals: tuple[Refusal, ...]
    crds: tuple[str, ...]
    """The definitions that were installed for it and where they come from, one line each."""
