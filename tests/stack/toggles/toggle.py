"""What a toggle is: one key of a checked-in stack file, set to something else, and what must come of it."""

import copy
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tests.harness import stack_settings


@dataclass(frozen=True, kw_only=True)
class Toggle:
    """One row. Exactly one of `refused`, `nothing`, or something that changes.

    Resources are named by kind and name: `Subnet network-private-us-west-2a`.
    """

    path: str
    """Dotted, as the stack file spells it."""
    value: Any
    """`...` takes the key out."""
    stack: str = "dev"
    """The stack file that is changed."""
    also: Mapping[str, Any] = field(default_factory=dict)
    """Keys that have to change with it, or it would be refused."""
    refused: str | None = None
    """The line that refuses it."""
    nothing: str | None = None
    """Why no resource and no output differs."""
    changes: tuple[str, ...] = ()
    """Resources that must differ, come or go: at least these."""
    outputs: tuple[str, ...] = ()
    """Outputs of the stack that must differ, no others do."""
    replaces: tuple[str, ...] = ()
    """Stateful resources that this makes anew: exactly these.

    On the engine more may follow, through the ids of these (under mocks an id never changes), and `Cluster cluster` is
    the child of that component, `cluster-eksCluster`."""
    stopped: str | None = None
    """The protected resource that would go: the engine stops in its preview. Mocks know nothing of that."""
    adds: tuple[str, ...] = ()
    """Stateful resources that come: exactly these."""
    removes: tuple[str, ...] = ()
    """Stateful resources that go: exactly these."""
    options_only: bool = False
    """Only resource options differ (protect, retain on delete): no input, so nothing in the cloud."""

    def __str__(self) -> str:
        """Return the id of the row's test."""
        return f"{self.stack}-{self.path}={self.value!r:.40}"

    def settings(self) -> dict[str, Any]:
        """Return the stack file's settings with the change."""
        return self._changed({**self.also, self.path: self.value})

    def settings_without(self) -> dict[str, Any]:
        """Return them with only what has to change beside it: what differs from these, the key itself has done."""
        return self._changed(self.also)

    def _changed(self, values: Mapping[str, Any]) -> dict[str, Any]:
        raw = stack_settings(self.stack)
        for path, value in values.items():
            change(raw, path, value)
        return raw


def change(raw: dict[str, Any], path: str, value: Any) -> None:
    """Set the key at a dotted path (or, with `...`, take it out)."""
    *above, last = path.split(".")
    node = raw
    for step in above:
        node = node.setdefault(step, {})  # a section that may be left out
    if value is ...:
        del node[last]
    else:
        node[last] = copy.deepcopy(value)
