"""Where the offline cloud remembers what was created."""

from __future__ import annotations

import copy
import threading
from typing import Protocol

from rehearsal.providers.values import Properties


class Store(Protocol):
    """State of one offline cloud, keyed by (type token, resource id). Safe to use from threads."""

    def get(self, token: str, identifier: str) -> Properties | None:
        """The outputs that were last put, or None when there is no such resource."""

    def put(self, token: str, identifier: str, outputs: Properties) -> None:
        """Remember `outputs`, replacing what was there."""

    def delete(self, token: str, identifier: str) -> None:
        """Forget the resource; deleting what is not there is not an error, as on AWS."""


class InProcessStore:
    """A store that lives as long as the rehearsal's process."""

    def __init__(self) -> None:
        self._outputs: dict[tuple[str, str], Properties] = {}
        self._lock = threading.Lock()

    def get(self, token: str, identifier: str) -> Properties | None:
        """As `Store.get`; the answer is a copy."""
        with self._lock:
            return copy.deepcopy(self._outputs.get((token, identifier)))

    def put(self, token: str, identifier: str, outputs: Properties) -> None:
        """As `Store.put`; a copy is kept."""
        with self._lock:
            self._outputs[token, identifier] = copy.deepcopy(outputs)

    def delete(self, token: str, identifier: str) -> None:
        """As `Store.delete`."""
        with self._lock:
            self._outputs.pop((token, identifier), None)
