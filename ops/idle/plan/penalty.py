"""What waiting costs: so much a second, or so much once a request has waited for longer than a limit."""

import re
from dataclasses import dataclass
from itertools import pairwise

from ops.failures import UsageError
from ops.idle.plan.intervals import duration
from ops.terminal import echo

_FORMS = 'USD a second of waiting such as 0.001, or steps "10s:0.01,60s:1" (longer than 10 s costs 0.01 USD)'
_MOST = 1e6
"""USD, of a second or a step: with more a sum of them is no number."""
_NUMBER = re.compile(r"\d+(\.\d+)?(e-?\d+)?", re.ASCII | re.IGNORECASE)


@dataclass(frozen=True)
class Penalty:
    """Of one request that waits."""

    a_second: float = 0.0
    """USD."""
    steps: tuple[tuple[float, float], ...] = ()
    """(seconds, USD), both growing: the last one that is exceeded counts."""
    requests: int = 1
    """How many wait for one return."""

    @property
    def costs(self) -> bool:
        """Whether any wait costs anything."""
        return bool(self.a_second or any(usd for _, usd in self.steps))

    def usd(self, waited: float) -> float:
        """Return what a return costs whose requests wait for so many seconds each."""
        step = max((usd for limit, usd in self.steps if waited > limit), default=0.0)
        return self.requests * (self.a_second * waited + step)

    def __str__(self) -> str:
        """Return it for people."""
        each = f" x {self.requests} requests a return" if self.requests > 1 else " a return"
        if self.steps:
            return ", ".join(f"{usd:g} USD beyond {limit:g} s" for limit, usd in self.steps) + each
        if self.a_second:
            return f"{self.a_second:g} USD a second of waiting{each}"
        return "waiting costs nothing (--penalty says what it costs)"


def given(asked: str | None, requests: int) -> Penalty:
    """Return what `--penalty` asks for; None: waiting costs nothing.

    Raises:
        UsageError: it is neither of the two forms, or a longer wait would cost less.
    """
    if asked is None:
        return Penalty(requests=requests)
    title = f"--penalty {echo(asked)}"
    if ":" not in asked:
        return Penalty(a_second=_usd(title, asked), requests=requests)
    steps = []
    for part in asked.split(","):
        limit, _, usd = part.partition(":")
        try:
            steps.append((duration(limit), _usd(title, usd)))
        except ValueError as wrong:
            raise UsageError(f"{title}: {echo(limit)}: {wrong}") from None
    for (one, cheap), (other, dear) in pairwise(steps):
        if other <= one or dear < cheap:
            raise UsageError(
                f"{title}: {other:g} s after {one:g} s, {dear:g} USD after {cheap:g}; expected both to grow"
            )
    return Penalty(steps=tuple(steps), requests=requests)


def _usd(title: str, text: str) -> float:
    if not _NUMBER.fullmatch(text.strip()):
        raise UsageError(f"{title}: expected {_FORMS}")
    if (value := float(text)) > _MOST:
        raise UsageError(f"{title}: {value:g} USD; expected at most {_MOST:.0f}")
    return value
