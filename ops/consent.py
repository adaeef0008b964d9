"""Before anything is changed: what it is, and whether it is wanted."""

import sys

from ops.failures import RefusedError, UsageError


def is_somebody_there() -> bool:
    """Whether a question would be read."""
    return sys.stdin.isatty()


def agreed(what: str, *, yes: bool) -> None:
    """Say what will be done, on standard error, and return when that is wanted.

    Args:
        what: one line or several: everything that will be changed, and what it costs.
        yes: it was asked for with `--yes`; nobody is asked.

    Raises:
        RefusedError: the user says no.
        UsageError: nobody is there to ask.
    """
    sys.stderr.write(f"{what}\n")
    if yes:
        return
    if not is_somebody_there():
        raise UsageError("nobody to ask, standard input is no terminal: --yes does it")
    sys.stderr.write("Go on? [y/N] ")
    sys.stderr.flush()
    if sys.stdin.readline().strip().lower() not in {"y", "yes"}:
        raise RefusedError("nothing was changed")
