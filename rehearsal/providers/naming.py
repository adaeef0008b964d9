"""Physical names that providers choose when the program gives none."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass

from pulumi.runtime.proto import provider_pb2

Autonaming = provider_pb2.CheckRequest.AutonamingOptions
"""What the stack says about names (`pulumi:autonaming` in its configuration)."""


@dataclass(frozen=True, kw_only=True)
class AutoName:
    """How one resource type is named: `<prefix><logical name>-<hex>`, cut to `limit` characters."""

    property: str
    limit: int
    prefix: str = ""
    lower: bool = False
    digits: int = 7

    def is_generated(self, name: object, logical: str) -> bool:
        """Whether `name` is one that this rule makes for `logical`, so that the program gave none."""
        start = f"{self.prefix}{logical}-"
        start = start.lower() if self.lower else start
        return isinstance(name, str) and re.fullmatch(f"{re.escape(start)}[0-9a-f]{{{self.digits}}}", name) is not None


class NameRefusedError(Exception):
    """No name can be chosen; the message says why."""


def hex_digits(seed: bytes, count: int) -> str:
    """`count` hex digits that depend on nothing but `seed`."""
    return hashlib.sha256(seed).hexdigest()[:count]


def choose(rule: AutoName, logical: str, seed: bytes, autonaming: Autonaming | None) -> str:
    """The physical name of a new resource. The same seed gives the same name.

    Raises NameRefusedError when the stack switched auto-naming off, or when the logical name
    leaves no room for the random part (the real providers refuse that too).
    """
    if autonaming is not None and autonaming.mode == Autonaming.DISABLE:
        raise NameRefusedError(f"auto-naming is switched off for this stack: set `{rule.property}` in the program")
    if autonaming is not None and autonaming.mode == Autonaming.ENFORCE:
        return autonaming.proposed_name
    if autonaming is not None and autonaming.proposed_name:
        name = rule.prefix + autonaming.proposed_name
    else:
        name = f"{rule.prefix}{logical}-{hex_digits(seed, rule.digits)}"
    if len(name) > rule.limit:
        raise NameRefusedError(
            f"the auto-generated name {name!r} has {len(name)} characters, at most {rule.limit} "
            f"are allowed: shorten the resource name or set `{rule.property}` in the program"
        )
    return name.lower() if rule.lower else name
