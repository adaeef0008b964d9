"""Waterfalls: each bar where the one before ends, the whole start below, and an axis that holds all of it."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ops.coldstart.report.page.chart import HAIR, Scale
from ops.coldstart.report.starts.bars import FAMILY_OF, MOST_TICKS, bars, phases, reach, ticks
from serving.budget.timeline import PHASES
from tests.ops.report.article import ladder, record


def test_every_phase_has_a_colour():
    assert set(FAMILY_OF) == set(PHASES)


def test_bars_of_one_start_sum_up_to_it():
    for one in ladder():
        laid = bars([one])
        assert [it.label for it in laid[-2:]] == ["unattributed", "total"]
        assert sum(it.of.median for it in laid[:-1]) == pytest.approx(one.total, abs=0.01)
        for before, after in pairwise(laid[:-1]):
            assert after.begin == pytest.approx(before.begin + before.of.median)
        assert laid[-1].begin == 0


def test_a_phase_that_no_start_had_has_no_bar_and_a_present_image_has_one_of_nothing():
    one = record("step-0", "restart", "none", {"imports": 3.0}, 4, pull="already present")
    assert [(it, of.median) for it, of in phases([one]).items()] == [("image pull", 0.0), ("imports", 3.0)]
    assert "restore" not in phases([one])


def test_a_phase_that_some_starts_had_says_of_how_many_it_is():
    some = [record("step-0", "restart", "none", it, 9) for it in ({"imports": 3.0}, {"imports": 5.0, "weights": 1.0})]
    assert [(it, of.n) for it, of in phases(some).items()] == [("imports", 2), ("weights", 1)]


def test_nothing_has_no_bars():
    assert bars([]) == ()


@given(st.floats(0, 100_000))
def test_an_axis_reaches_what_it_shows_and_names_few_places(longest):
    marks = ticks(longest)
    assert marks[0] == 0
    assert marks[-1] >= longest - 0.001
    assert 2 <= len(marks) <= MOST_TICKS


@given(st.floats(0, 3000), st.floats(0, 3000))
def test_every_bar_can_be_seen(seconds, more):
    scale = Scale(seconds + more)
    wide = float(scale.wide(seconds).removesuffix("%"))
    assert wide >= HAIR
    assert wide <= 100


def test_whiskers_lie_on_the_axis():
    some = [record("step-0", "restart", "none", {"imports": it}, it) for it in (1.0, 2.0, 90.0)]
    assert reach(bars(some)) == 90
