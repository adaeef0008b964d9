"""What a cloud refuses because it is there already."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from rehearsal.providers.change.compare import Difference, by_index
from rehearsal.providers.change.paths import get, parse, written
from rehearsal.providers.outputs import as_given
from rehearsal.providers.values import Properties, reveal


class ConflictError(Exception):
    """A resource cannot be made because of one that exists; the message names both."""


@dataclass(frozen=True, kw_only=True)
class Clash:
    """A further condition of `Unique`: how it is called, and the test of (new inputs, existing outputs)."""

    name: str
    test: Callable[[Properties, Properties], bool]


@dataclass(frozen=True, kw_only=True)
class Unique:
    """The cloud takes no second resource of a type with the same values at `same`.

    Compared within one region (the `region` that every regional resource of the AWS provider has),
    or everywhere when `worldwide`. Accounts are not told apart. Values that are all absent are not
    the same.
    """

    error: str
    """What the cloud calls the refusal, as `ResourceInUseException`."""
    same: tuple[str, ...]
    """Input paths."""
    also: Clash | None = None
    worldwide: bool = False

    def refuse(self, inputs: Properties, existing: Mapping[str, Properties]) -> None:
        """Raise ConflictError when one of `existing` (id to outputs) is in the way of `inputs`."""
        given = reveal(inputs)
        values = [get(given, parse(path)) for path in self.same]
        if all(value is None for value in values):
            return
        for identifier, stored in existing.items():
            outputs = reveal(stored)
            if values != [get(outputs, parse(path)) for path in self.same]:
                continue
            if not self.worldwide and given.get("region") != outputs.get("region"):
                continue
            if self.also is None or self.also.test(given, outputs):
                raise ConflictError(
                    f"{self.error}: {identifier} already exists in the offline cloud with {self._reason(inputs)}"
                )

    def _reason(self, inputs: Properties) -> str:
        # A secret stays inside its wrapper here, so that it cannot get into the message.
        said = [(path, get(inputs, parse(path))) for path in self.same]
        words = [f"{path} {_shown(value)}" for path, value in said if value is not None]
        if self.also is not None:
            words.append(self.also.name)
        return "the same " + ", ".join(words)


def refuse_overwriting(identifier: str, inputs: Properties, existing: Properties) -> None:
    """Raise ConflictError when a server-side apply of `inputs` onto `existing` would change a field.

    pulumi-kubernetes always sends a patch (`pkg/await/await.go`, Creation), so an object that is
    there already is taken over. The API server refuses only fields that another manager has set to
    something else, and each resource of Pulumi is a manager of its own.
    """
    given = reveal(inputs)
    changes = by_index(as_given(reveal(existing), given), given)
    fields = [f".{written(path)}" for path, it in changes.items() if it.difference is Difference.UPDATE]
    if fields:
        raise ConflictError(
            f"Conflict: {identifier} already exists in the offline cluster, and another manager has set "
            f"{', '.join(fields)} to something else"
        )


def _shown(value: object) -> str:
    return "[secret]" if reveal(value) != value else json.dumps(value)
