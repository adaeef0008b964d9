"""Checks run side by side, a few at a time, and none waits for the table."""

import threading

import pytest

from ops.failures import RefusedError, UnclearError
from ops.preflight.finding import ok
from ops.preflight.run import AT_ONCE, report


def first(asked):
    yield ok("account", "fine")


def test_checks_ask_at_the_same_time_but_only_a_few_of_them(asked):
    together, lock, most, now = threading.Barrier(AT_ONCE, timeout=10), threading.Lock(), [0], [0]

    def check(_):
        with lock:
            now[0] += 1
            most[0] = max(most[0], now[0])
        together.wait()  # breaks when they come one after the other
        with lock:
            now[0] -= 1
        yield ok("x", "y")

    checks = {f"check-{number}": check for number in range(2 * AT_ONCE)}
    said = []
    found = report(asked(), said.append, checks, first)
    assert most == [AT_ONCE]
    assert [*found] == ["account", *checks]
    assert {it.verdict for findings in found.values() for it in findings} == {"ok"}
    assert said[:2] == ["whose credentials", f"0 of {len(checks)}, waiting for {', '.join(checks)}"]
    assert said[-1] == f"{len(checks)} of {len(checks)}"


def test_a_failure_of_a_check_is_its_finding_and_of_the_first_is_the_end(asked):
    def closed(_):
        raise UnclearError("no such profile")

    def refused(_):
        raise RefusedError("another account")

    found = report(asked(), lambda _: None, {"x": closed}, first)["x"]
    assert [(it.verdict, it.found, it.fix) for it in found] == [
        ("unknown", "no such profile", "mend that, then run again")
    ]
    with pytest.raises(RefusedError, match=r"^another account$"):
        report(asked(), lambda _: None, {"x": closed}, refused)
