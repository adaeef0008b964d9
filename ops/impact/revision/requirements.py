"""Whether this Python has the packages that a revision is written for: other ones could plan another thing."""

from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

from packaging.requirements import InvalidRequirement, Requirement

from ops.failures import UnclearError

REQUIREMENTS = "requirements.in"
"""What the program itself names; what these bring along decides nothing about a plan."""

_SHOWN = 3


def check(folder: Path, title: str) -> None:
    """Return when this Python has what a revision pins.

    Args:
        folder: of the revision. Without the file nothing is known, and nothing refused.
        title: of the revision, for the message.

    Raises:
        UnclearError: a package is missing, or another version.
    """
    try:
        text = (folder / REQUIREMENTS).read_text(encoding="utf-8")
    except OSError:
        return
    others = list(_others(text))
    if others:
        more = f" and {len(others) - _SHOWN} more" if len(others) > _SHOWN else ""
        raise UnclearError(
            f"{title}: its {REQUIREMENTS} is not what this Python has: {', '.join(others[:_SHOWN])}{more};"
            " a change of packages is compared by `pulumi preview`"
        )


def _others(text: str) -> Iterator[str]:
    for line in text.splitlines():
        wanted = _requirement(line.partition("#")[0].strip())
        if wanted is None or (wanted.marker and not wanted.marker.evaluate()):
            continue
        try:
            version = metadata.version(wanted.name)
        except metadata.PackageNotFoundError:
            yield f"{wanted.name}{wanted.specifier}, and it is missing"
            continue
        if not wanted.specifier.contains(version, prereleases=True):
            yield f"{wanted.name}{wanted.specifier}, and it is {version}"


def _requirement(line: str) -> Requirement | None:
    try:
        return Requirement(line) if line and not line.startswith("-") else None
    except InvalidRequirement:
        return None
