"""How a cache build ended: the one line that is printed about it, and the exit code that goes with it."""

import re
from dataclasses import dataclass
from typing import Literal

Outcome = Literal["published", "present", "engine", "not-warm", "secret", "denied", "refused", "unclear"]
"""`present`: both manifests were there. `engine`: it did not start or stop. `not-warm`: the second start compiled."""

LINE = re.compile(
    r"cache-build: outcome=(?P<outcome>[a-z-]+) fingerprint=(?P<fingerprint>[a-z-]+) base=(?P<base>[a-z-]+)"
    r" bytes=(?P<bytes>\d+) base_bytes=(?P<base_bytes>\d+) files=(?P<files>\d+)"
    r' cold=(?P<cold>\d+\.\d) warm=(?P<warm>\d+\.\d) seconds=(?P<seconds>\d+\.\d) reason="(?P<reason>[^"]*)"'
)

CODES = {"published": 0, "present": 0, "unclear": 3}


@dataclass
class Report:
    """What the line says."""

    outcome: Outcome = "refused"
    fingerprint: str = "none"
    base: str = "none"
    bytes: int = 0
    base_bytes: int = 0
    files: int = 0
    cold: float = 0.0
    warm: float = 0.0
    reason: str = ""

    @property
    def code(self) -> int:
        """The exit code: 0 published or there already, 1 refused, 3 could not tell."""
        return CODES.get(self.outcome, 1)

    def line(self, seconds: float) -> str:
        """Return the line; `LINE` reads it."""
        reason = " ".join(self.reason.replace('"', "'").split())[:600]
        return (
            f"cache-build: outcome={self.outcome} fingerprint={self.fingerprint} base={self.base} bytes={self.bytes}"
            f" base_bytes={self.base_bytes} files={self.files} cold={self.cold:.1f} warm={self.warm:.1f}"
            f' seconds={seconds:.1f} reason="{reason}"'
        )
