"""What was provoked is put back in reverse order, or named with the command that does it."""

from __future__ import annotations

import os
import signal

import pytest

from ops.coldstart.measure.put_back import PutBack
from ops.failures import UnclearError


def test_promises_are_kept_in_reverse_order_also_after_an_error(capsys):
    done = []

    def act():
        with PutBack() as back:
            back.promise("one", "do one", lambda: done.append("one"))
            back.promise("two", "do two", lambda: done.append("two"))
            raise ValueError("in the middle")

    with pytest.raises(ValueError, match="in the middle"):
        act()
    assert done == ["two", "one"]
    assert capsys.readouterr().err == "put back: two\nput back: one\n"


def test_what_was_kept_or_dropped_is_not_put_back_again(capsys):
    done = []
    with PutBack() as back:
        back.keep(back.promise("one", "do one", lambda: done.append("one")))
        back.drop(back.promise("two", "do two", lambda: done.append("two")))
    assert done == ["one"]
    assert capsys.readouterr().err == ""


def test_what_cannot_be_put_back_is_named_and_the_rest_is(capsys):
    done = []

    def fail():
        raise UnclearError("https://x does not answer")

    with PutBack() as back:
        back.promise("one", "do one", lambda: done.append("one"))
        back.promise("two", "do two", fail)
    assert done == ["one"]
    assert capsys.readouterr().err == (
        "not put back: two: https://x does not answer; do it by hand: do two\nput back: one\n"
    )


def test_a_second_ctrl_c_names_all_that_is_left(capsys):
    def interrupted():
        raise KeyboardInterrupt

    def act():
        with PutBack() as back:
            back.promise("one", "do one", lambda: None)
            back.promise("two", "do two", interrupted)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        act()
    assert capsys.readouterr().err == (
        "not put back: two: interrupted; do it by hand: do two\nnot put back: one: interrupted; do it by hand: do one\n"
    )


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_signals_that_end_a_program_end_it_as_ctrl_c_does_and_mean_what_they_did_afterwards(number, capsys):
    before = signal.getsignal(number)

    def act():
        with PutBack() as back:
            back.promise("one", "do one", lambda: None)
            os.kill(os.getpid(), number)
            signal.pause()

    with pytest.raises(KeyboardInterrupt):
        act()
    assert capsys.readouterr().err == "put back: one\n"
    assert signal.getsignal(number) == before


def test_a_terminal_that_was_closed_is_no_reason_to_leave_the_rest(monkeypatch):
    """SIGHUP comes when it is: what is written to it then fails."""

    class Closed:
        def write(self, _text):
            raise OSError(5, "Input/output error")

    done = []
    with PutBack() as back:
        back.promise("one", "do one", lambda: done.append("one"))
        back.promise("two", "do two", lambda: done.append("two"))
        monkeypatch.setattr("sys.stderr", Closed())
    assert done == ["two", "one"]


def test_an_error_that_nobody_foresaw_is_named_and_the_rest_is_put_back(capsys):
    done = []

    def fail():
        raise KeyError("spec")

    with PutBack() as back:
        back.promise("one", "do one", lambda: done.append("one"))
        back.promise("two", "do two", fail)
    assert (done, back.broken) == (["one"], ["two"])
    assert capsys.readouterr().err == "not put back: two: KeyError('spec'); do it by hand: do two\nput back: one\n"


def test_an_api_that_is_silent_for_a_moment_is_asked_again(capsys):
    asked = []

    def act():
        asked.append(1)
        if len(asked) < 3:
            raise UnclearError("does not answer")

    with PutBack() as back:
        back.promise("one", "do one", act)
    assert (len(asked), back.broken, capsys.readouterr().err) == (3, [], "put back: one\n")


def test_under_nohup_the_end_of_the_terminal_ends_nothing():
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with PutBack():
            os.kill(os.getpid(), signal.SIGHUP)
        assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, before)
