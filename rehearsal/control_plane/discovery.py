"""Which kinds the API server serves, and at which path."""

from __future__ import annotations

import time
import urllib.parse
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from rehearsal.control_plane.client import Client, ControlPlaneError

_DEFAULT_NAMESPACE = "default"
_APPEARS_SECONDS = 10.0


@dataclass(frozen=True, kw_only=True)
class Resource:
    """A kind as the API server serves it."""

    root: str
    """`/api/v1` or `/apis/<group>/<version>`."""
    plural: str
    namespaced: bool

    def collection(self, namespace: str) -> str:
        """The path to create objects at; `namespace` counts for namespaced kinds only."""
        if not self.namespaced:
            return f"{self.root}/{self.plural}"
        return f"{self.root}/namespaces/{urllib.parse.quote(namespace, safe='')}/{self.plural}"

    def object(self, namespace: str, name: str) -> str:
        """The path of one object."""
        return f"{self.collection(namespace)}/{urllib.parse.quote(name, safe='')}"


def group_of(api_version: str) -> str:
    """The group in `group/version`; empty for the core group's `v1`."""
    return api_version.rpartition("/")[0]


def namespace_of(body: Mapping[str, Any]) -> str:
    """The namespace of an object, also for kinds that have none."""
    return str(body["metadata"].get("namespace") or _DEFAULT_NAMESPACE)


class Discovery:
    """What the server serves, asked once per group and version."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._known: dict[str, dict[str, Resource]] = {}

    def find(self, api_version: str, kind: str) -> Resource | None:
        """The kind, or None when it is not served. Raises ControlPlaneError."""
        if api_version not in self._known:
            self._known[api_version] = self._ask(api_version)
        return self._known[api_version].get(kind)

    def serves_group(self, group: str) -> bool:
        """Whether any version of an API group is served. Raises ControlPlaneError."""
        return not group or self._client.get(f"/apis/{urllib.parse.quote(group)}").ok

    def await_kind(self, api_version: str, kind: str) -> None:
        """Return when the server serves a kind that was just defined. Raises ControlPlaneError."""
        deadline = time.monotonic() + _APPEARS_SECONDS
        while self.find(api_version, kind) is None:
            if time.monotonic() > deadline:
                raise ControlPlaneError(
                    f"{api_version} {kind} is defined, and not served after {_APPEARS_SECONDS:.0f} s"
                )
            time.sleep(0.02)
            del self._known[api_version]

    def _ask(self, api_version: str) -> dict[str, Resource]:
        path = urllib.parse.quote(api_version)
        root = f"/apis/{path}" if group_of(api_version) else f"/api/{path}"
        answer = self._client.get(root)
        return {
            each["kind"]: Resource(root=root, plural=each["name"], namespaced=each["namespaced"])
            for each in (answer.body.get("resources", []) if answer.ok else [])
            # `pods/log` and the like are not kinds of their own.
            if "/" not in each["name"]
        }
