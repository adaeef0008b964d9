"""Where the offline cloud remembers what was created."""

from __future__ import annotations

import json
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Protocol

from rehearsal.providers.values import Properties


class Store(Protocol):
    """State of one offline cloud, keyed by (type token, resource id). Safe to use from threads."""

    def get(self, token: str, identifier: str) -> Properties | None:
        """The outputs that were last put, or None when there is no such resource."""

    def all(self, token: str) -> dict[str, Properties]:
        """Outputs of every resource of a type, by id."""

    def put(self, token: str, identifier: str, outputs: Properties) -> None:
        """Remember `outputs`, replacing what was there."""

    def delete(self, token: str, identifier: str) -> None:
        """Forget the resource; deleting what is not there is not an error, as on AWS."""


# Not REPLACE, which would move a changed resource to the end.
_PUT = """
INSERT INTO resources VALUES (?, ?, ?) ON CONFLICT (type, id) DO UPDATE SET outputs = excluded.outputs
"""


class FileStore:
    """A store in an SQLite file: like a cloud, it keeps what was made when the rehearsal is killed.

    Values are in it as they are, secrets too.
    """

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._lock = threading.Lock()

    @classmethod
    @contextmanager
    def opened(cls, path: Path | None) -> Iterator[FileStore]:
        """Open `path`, made when missing; None: in memory. Raises sqlite3.Error for another kind of file."""
        # Each statement is a transaction of its own. Losing the last ones to a power cut is no
        # concern of a rehearsal, and waiting for the disk at each would be most of its time.
        if path is not None and not path.exists():
            path.touch(mode=0o600)
        with closing(sqlite3.connect(path or ":memory:", isolation_level=None, check_same_thread=False)) as connection:
            connection.execute("PRAGMA synchronous = OFF")
            connection.execute(
                "CREATE TABLE IF NOT EXISTS resources (type TEXT, id TEXT, outputs TEXT, PRIMARY KEY (type, id))"
            )
            yield cls(connection)

    def get(self, token: str, identifier: str) -> Properties | None:
        """As `Store.get`."""
        rows = self._run("SELECT outputs FROM resources WHERE type = ? AND id = ?", token, identifier)
        return json.loads(rows[0][0]) if rows else None

    def all(self, token: str) -> dict[str, Properties]:
        """As `Store.all`."""
        rows = self._run("SELECT id, outputs FROM resources WHERE type = ? ORDER BY rowid", token)
        return {identifier: json.loads(outputs) for identifier, outputs in rows}

    def put(self, token: str, identifier: str, outputs: Properties) -> None:
        """As `Store.put`."""
        self._run(_PUT, token, identifier, json.dumps(outputs))

    def delete(self, token: str, identifier: str) -> None:
        """As `Store.delete`."""
        self._run("DELETE FROM resources WHERE type = ? AND id = ?", token, identifier)

    def everything(self) -> dict[tuple[str, str], Properties]:
        """Outputs of every resource, by type and id, in the order in which they were made."""
        rows = self._run("SELECT type, id, outputs FROM resources ORDER BY rowid")
        return {(kind, identifier): json.loads(outputs) for kind, identifier, outputs in rows}

    def _run(self, statement: str, *values: str) -> list[tuple[str, ...]]:
        with self._lock:
            return self._connection.execute(statement, values).fetchall()
