"""One line of the table: what an AWS resource type asks of whoever makes, reads and removes it."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Row:
    """Actions of one resource type, by how far they can be narrowed."""

    on: str
    """What ARNs they are about: a key of `places.Places.arns`."""
    look: tuple[str, ...] = ()
    """Reads of the type, which its refresh makes. Those that take no ARN are in `ANYWHERE`."""
    make: tuple[str, ...] = ()
    """Changes that meet something without the stack's tags: mostly what they make."""
    change: tuple[str, ...] = ()
    """Changes of what is there: narrowed to the stack's tags where the service compares them (EC2, KMS)."""
