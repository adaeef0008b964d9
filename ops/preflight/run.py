"""All checks side by side, and what they found in the order of the table."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from queue import Empty, SimpleQueue
from threading import Thread

from ops.failures import Failure, UsageError
from ops.preflight import account
from ops.preflight.asking import Asked
from ops.preflight.capacity import addresses, offerings, quotas, reservations, spot
from ops.preflight.content import bucket, images, registry
from ops.preflight.finding import Finding, Report, unknown
from ops.preflight.releases import ami, versions
from ops.terminal import echo

Check = Callable[[Asked], Iterable[Finding]]

FIRST = "account"
"""Asked alone and always: in another account every other answer would be about something else."""

CHECKS: Mapping[str, Check] = {
    "quotas": quotas.check,
    "reservations": reservations.check,
    "offerings": offerings.check,
    "spot": spot.check,
    "bucket": bucket.check,
    "registry": registry.check,
    "images": images.check,
    "ami": ami.check,
    "addresses": addresses.check,
    "versions": versions.check,
}
AT_ONCE = 4
"""Checks that ask at once: more would be throttled, and most of the wait is the network's."""


def chosen(only: Sequence[str]) -> Mapping[str, Check]:
    """Return the checks to run: all, or those that were named.

    Raises:
        UsageError: one of them is none.
    """
    for name in only:
        if name not in {FIRST, *CHECKS}:
            raise UsageError(f"--only {echo(name)}: no check; expected {', '.join([FIRST, *CHECKS])}")
    return {name: check for name, check in CHECKS.items() if not only or name in only}


def report(
    asked: Asked,
    say: Callable[[str], None],
    checks: Mapping[str, Check] = CHECKS,
    first: Check = account.check,
) -> Report:
    """Run the checks and return what they found. One that cannot go on is a finding, and stops no other.

    Args:
        asked: the stack, and who answers.
        say: is told how far it is.
        checks: by name.
        first: is run before them, and its failures end everything.

    Raises:
        RefusedError: another account, or a region that is closed to it.
        UnclearError: no credentials.
    """
    say("whose credentials")
    found: dict[str, Sequence[Finding]] = {FIRST: list(first(asked))}
    say(_how_far(checks, found))
    for name, findings in _side_by_side(checks, asked):
        found[name] = findings
        say(_how_far(checks, found))
    return {name: found[name] for name in (FIRST, *checks)}


def _how_far(checks: Mapping[str, Check], found: Report) -> str:
    left = [each for each in checks if each not in found]
    return f"{len(checks) - len(left)} of {len(checks)}" + (f", waiting for {', '.join(left)}" if left else "")


def _side_by_side(checks: Mapping[str, Check], asked: Asked) -> Iterator[tuple[str, Sequence[Finding]]]:
    """Yield what each check found, as it comes.

    Daemon threads: an executor's are waited for at the end, and Ctrl-C would hang on a request that does.
    """
    waiting: SimpleQueue[str] = SimpleQueue()
    done: SimpleQueue[tuple[str, Sequence[Finding]]] = SimpleQueue()

    def work() -> None:
        while True:
            try:
                name = waiting.get_nowait()
            except Empty:
                return
            done.put((name, _found(checks[name], asked)))

    for name in checks:
        waiting.put(name)
    for _ in range(min(AT_ONCE, len(checks))):
        Thread(target=work, daemon=True).start()
    for _ in checks:
        yield done.get()


def _found(check: Check, asked: Asked) -> Sequence[Finding]:
    try:
        return list(check(asked))
    except Failure as failure:
        return [unknown("-", str(failure), "mend that, then run again")]
    except Exception as error:  # an answer of a form that nobody foresaw
        said = " ".join(f"{type(error).__name__}: {error}".split())
        return [unknown("-", f"the check itself broke: {said}", "report it")]
