"""Which image nodes boot: `<family>@<version>`, as Karpenter's `amiSelectorTerms[].alias` spells it.

Only families whose boot this package can write. The EKS variant (standard, nvidia) and the CPU follow from the
NodePool's requirements, so neither is part of the alias.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from typing import Literal

Family = Literal["al2023", "bottlerocket"]

LATEST = "latest"
LATEST_KEY = "allowLatestAmi"
"""Key beside the alias that allows `@latest`. Every AMI release then drifts every node (KP#6862)."""

UNPROVEN: Mapping[Family, str] = {
    "bottlerocket": "its settings are linted and admitted, and no node has booted with them (docs/proven.md)"
}
"""What is known of a family only from reading, and what to tell who chooses it."""

FORMS: dict[Family, str] = {"al2023": "al2023@vYYYYMMDD", "bottlerocket": "bottlerocket@vX.Y.Z"}
DESCRIPTION = " or ".join(FORMS.values())
"""What a settings field that holds an alias is described by."""


@dataclass(frozen=True)
class Ami:
    """A family and one of its releases: `v20260724`, `v1.46.0` or `latest`."""

    family: Family
    version: str

    def __str__(self) -> str:
        """Return the alias, for the EC2NodeClass."""
        return f"{self.family}@{self.version}"

    @property
    def release(self) -> tuple[int, ...] | None:
        """Numbers that order the releases of one family: (20260724,) or (1, 46, 0); None for latest."""
        return None if self.version == LATEST else tuple(int(part) for part in self.version[1:].split("."))

    def at_least(self, release: tuple[int, ...]) -> bool:
        """Whether this is the given release of its family or a later one. The latest one is."""
        return self.release is None or self.release >= release


def ami_alias(text: str, *, allow_latest: bool = False) -> Ami:
    """Return the family and the version of an alias.

    Args:
        text: as the stack file spells it.
        allow_latest: value of the key `allowLatestAmi`.

    Raises:
        ValueError: the second half of a settings message, one line.
    """
    family, at, version = text.partition("@")
    form = next((form for name, form in FORMS.items() if name == family), None)
    if form is None:
        raise ValueError(f"not an AMI family whose boot is known; expected {DESCRIPTION}")
    if not at or not version:
        raise ValueError(f"has no version; expected {form}")
    if version == LATEST:
        if not allow_latest:
            raise ValueError(f"drifts every node at each AMI release; expected {form}, or {LATEST_KEY}: true beside it")
    elif family == "al2023":
        _al2023(version)
    elif not re.fullmatch(r"v(0|[1-9][0-9]{0,3})(\.(0|[1-9][0-9]{0,3})){2}", version):
        raise ValueError(f"not a Bottlerocket release; expected {form}, for example bottlerocket@v1.46.0")
    return Ami("al2023" if family == "al2023" else "bottlerocket", version)


def _al2023(version: str) -> None:
    form = FORMS["al2023"]
    digits = re.fullmatch(r"v([0-9]{4})([0-9]{2})([0-9]{2})", version, re.ASCII)
    if not digits:
        raise ValueError(f"not an AL2023 release; expected {form}, for example al2023@v20260724")
    try:
        date(*(int(part) for part in digits.groups()))
    except ValueError:
        raise ValueError(f"{version} is not a day of the calendar; expected {form}") from None
