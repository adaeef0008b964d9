"""What was not seen is no 0, and what did not happen is one."""

import pytest

from ops.coldstart.report.starts.comparison import TAKEN
from ops.coldstart.report.starts.figures import Spread, engine_init, seconds, signed, spread, text
from tests.ops.report.article import record


def start(phases, preset="step-1", **more):
    return record(preset, "warm node", "none", phases, sum(phases.values()) + 1, **more)


@pytest.mark.parametrize(
    ("phases", "pull", "expected"),
    [
        ({"imports": 1.0}, "unknown", None),
        ({"imports": 1.0}, "pulled", None),
        ({"imports": 1.0}, "already present", 0.0),
        ({"image pull": 0.0, "imports": 1.0}, "unknown", None),
        ({"image pull": 0.0, "imports": 1.0}, "pulled", None),
        ({"image pull": 0.0, "imports": 1.0}, "already present", 0.0),
        ({"image pull": 32.2, "imports": 1.0}, "pulled", 32.2),
    ],
)
def test_a_pull_of_nothing_counts_only_when_kubelet_said_already_present(phases, pull, expected):
    assert seconds(start(phases, pull=pull), "image pull") == expected


def test_a_phase_that_was_not_seen_is_unknown():
    assert seconds(start({"imports": 1.0}), "weights") is None


def test_a_phase_that_only_a_technique_brings_took_nothing_without_it():
    assert seconds(start({"imports": 1.0}), "restore") == 0.0
    assert seconds(start({"imports": 1.0}), "priming") == 0.0
    assert seconds(start({"imports": 1.0}, "step-3"), "restore") is None
    assert seconds(start({"imports": 1.0}, "step-5"), "priming") is None


def test_an_engine_that_does_not_compile_took_nothing_for_it():
    assert seconds(start({"imports": 1.0}, compile="none"), "compile") == 0.0
    assert seconds(start({"imports": 1.0}, compile="unknown"), "compile") is None


def test_engine_init_is_what_was_seen_of_compile_kernels_and_graphs():
    assert engine_init(start({"compile": 51.0, "kernels": 20.5, "graphs": 22.5})) == pytest.approx(94.0)
    assert engine_init(start({"graphs": 22.5})) == pytest.approx(22.5)
    assert engine_init(start({"imports": 22.5})) is None


def test_what_the_engine_says_of_itself_goes_before_the_spans_of_phases():
    said = start({"weights": 21.0, "compile": 7.0}, said={"weights": 19.8, "compile": 6.6, "engine init": 29.6})
    assert [TAKEN[it](said) for it in ("weights", "compile", "engine init")] == [19.8, 6.6, 29.6]


def test_the_spread_is_of_those_that_are_known():
    assert spread([3.0, None, 1.0, 2.0]) == Spread(2.0, 1.0, 3.0, 3)
    assert spread([1.0, 2.0]) == Spread(1.5, 1.0, 2.0, 2)
    assert spread([None]) is None


@pytest.mark.parametrize(
    ("value", "shown"), [(0, "0.0"), (0.004, "0.0"), (0.97, "0.97"), (0.996, "1.0"), (6.98, "7.0"), (1800, "1800.0")]
)
def test_seconds_have_tenths_and_below_a_second_hundredths(value, shown):
    assert text(value) == shown


def test_a_difference_that_shows_nothing_has_no_sign():
    assert [signed(it) for it in (-110.04, 0.3, -0.001, 0.0)] == ["-110.0", "+0.30", "0.0", "0.0"]
