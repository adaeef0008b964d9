"""What policies cost: bounds, order, and an optimum that no candidate beats."""

import math
import time

import pytest
from hypothesis import given as for_all
from hypothesis import strategies as some

from ops.failures import UsageError
from ops.idle.plan import policies
from ops.idle.plan.change import candidates
from ops.idle.plan.intervals import Intervals, given
from ops.idle.plan.penalty import Penalty
from ops.idle.plan.penalty import given as penalty_given
from ops.idle.plan.policies import Terms, always_on, asleep, best_keep, break_evens, node_kept, warm_node

RESTART, FRESH, WARM, WAKE = 77.0, 176.0, 130.0, 1.0
"""Seconds."""

times = some.lists(some.floats(1, 1e5), min_size=1, max_size=30)
prices = some.floats(0, 100)
penalties = some.builds(Penalty, some.floats(0, 1), requests=some.integers(1, 5))


def of(*seconds, busy=0.0):
    return Intervals(seconds=sorted(seconds), busy=busy, source="a test")


def kept(intervals, terms, keep):
    return node_kept(intervals, terms, keep=keep, restart=RESTART, fresh=FRESH)


@for_all(times, prices, penalties, some.floats(0, 1e5))
def test_a_kept_node_costs_between_scale_to_zero_and_always_on(seconds, price, penalty, keep):
    intervals, terms = of(*seconds), Terms(price=price, penalty=penalty)
    nothing, some_time, always = kept(intervals, terms, 0), kept(intervals, terms, keep), always_on(intervals, terms)
    assert nothing.kept_usd == 0
    assert nothing.kept_usd <= some_time.kept_usd <= always.kept_usd * (1 + 1e-9)
    # and waits between the two as well
    assert always.penalty_usd <= some_time.penalty_usd <= nothing.penalty_usd * (1 + 1e-9)


@for_all(times, prices, prices, penalties, some.floats(0, 1e5))
def test_no_policy_is_cheaper_at_a_higher_price(seconds, one, other, penalty, keep):
    intervals = of(*seconds)
    low, high = (Terms(price=price, penalty=penalty) for price in sorted((one, other)))
    for policy in (
        lambda terms: always_on(intervals, terms),
        lambda terms: asleep(intervals, terms, after=keep, wake=WAKE),
        lambda terms: kept(intervals, terms, keep),
        lambda terms: warm_node(intervals, terms, keep=keep, restart=RESTART, warm=WARM),
    ):
        assert policy(low).usd <= policy(high).usd * (1 + 1e-9)


@for_all(times, prices, penalties, some.lists(some.integers(3, 2000), max_size=20))
def test_the_best_keep_is_not_worse_than_any_time_that_the_stack_file_can_say(seconds, price, penalty, others):
    """All minutes, and not the candidates alone: between two intervals nothing is won."""
    intervals, terms = of(*seconds), Terms(price=price, penalty=penalty)
    asked = [60.0 * keep for keep in candidates(intervals.seconds, 3, 99_999)]
    best, outcome = best_keep(intervals, terms, asked, restart=RESTART, fresh=FRESH)
    assert outcome == kept(intervals, terms, best)
    for keep in [*asked, *(60.0 * it for it in others)]:
        assert outcome.usd <= kept(intervals, terms, keep).usd + 1e-9


@for_all(times, prices, penalties)
def test_shares_sum_up_and_waits_grow(seconds, price, penalty):
    intervals, terms = of(*seconds), Terms(price=price, penalty=penalty)
    for outcome in (
        always_on(intervals, terms),
        asleep(intervals, terms, after=900, wake=WAKE),
        kept(intervals, terms, 600),
        warm_node(intervals, terms, keep=600, restart=RESTART, warm=WARM),
    ):
        assert sum(path.share for path in outcome.paths) == pytest.approx(1)
        assert outcome.wait(0.5) <= outcome.wait(0.95) <= outcome.wait(1)
        assert outcome.usd == pytest.approx(outcome.kept_usd + outcome.starting_usd + outcome.penalty_usd)


def test_the_sums_of_a_small_case_by_hand():
    """Two returns after 5 and 20 minutes, a node kept for 10, 3.6 USD an hour, 0.01 USD a second for two requests."""
    intervals, terms = of(300, 1200), Terms(price=3.6, penalty=Penalty(0.01, requests=2))
    outcome = kept(intervals, terms, 600)
    assert outcome.kept == (300 + 600) / 2
    assert outcome.kept_usd == pytest.approx(0.45)
    assert outcome.starting_usd == pytest.approx((77 + 176) / 2 / 1000)
    assert outcome.penalty_usd == pytest.approx(0.02 * (77 + 176) / 2)
    assert [(path.name, path.share) for path in outcome.paths] == [("restart", 0.5), ("fresh node", 0.5)]
    assert (outcome.wait(0.5), outcome.wait(0.95)) == (77, 176)


def test_a_warm_node_costs_while_the_server_is_busy_too():
    intervals, terms = of(1000, busy=500), Terms(price=3.6, penalty=Penalty())
    assert warm_node(intervals, terms, keep=100, restart=RESTART, warm=WARM).kept == 1000 + 500 + 100


def test_who_sleeps_after_a_while_is_awake_before():
    outcome = asleep(of(300, 1200), Terms(price=1, penalty=Penalty()), after=900, wake=WAKE)
    assert [(path.name, path.share) for path in outcome.paths] == [("awake", 0.5), ("wake", 0.5)]


def test_of_times_without_memory_only_the_ends_can_be_best():
    """An exponential: what a node has waited says nothing about how long it will."""
    intervals = given("exponential:mean=30m", None)
    asked = [60.0 * keep for keep in candidates(intervals.seconds, 3, 99_999)]
    for usd, best in ((0.0001, asked[0]), (1.0, asked[-1])):
        terms = Terms(price=3.6, penalty=Penalty(usd))
        assert best_keep(intervals, terms, asked, restart=RESTART, fresh=FRESH)[0] == best


def test_a_million_intervals_are_optimised_in_seconds():
    intervals = of(*(60 + place * 7919 % 100_000 for place in range(10**6)))
    began = time.process_time()
    asked = [60.0 * keep for keep in candidates(intervals.seconds, 3, 99_999)]
    best_keep(intervals, Terms(price=3.6, penalty=Penalty(0.01)), asked, restart=RESTART, fresh=FRESH)
    assert time.process_time() - began < 10


@for_all(some.floats(0.01, 100), penalties, some.floats(0, 600))
def test_at_a_break_even_both_ways_cost_the_same(price, penalty, least):
    terms = Terms(price=price, penalty=penalty)
    on, sleep, node = break_evens(terms, least=least, restart=RESTART, fresh=FRESH, wake=WAKE)
    for even, stays in (
        (on, lambda it: always_on(it, terms)),
        (sleep, lambda it: asleep(it, terms, after=0, wake=WAKE)),
    ):
        interval = of(even.seconds)
        assert stays(interval).usd == pytest.approx(kept(interval, terms, least).usd)
    interval = of(node.seconds)
    assert kept(interval, terms, node.seconds).usd == pytest.approx(kept(interval, terms, 0).usd)


def test_article_000_weighs_the_idle_cost_against_the_penalty():
    """5.4: T x C against what 226 s cost where a wake takes 0.97 s."""
    terms = Terms(price=3.6, penalty=Penalty(0.01))
    _, sleep, _ = break_evens(terms, least=0, restart=133, fresh=226, wake=0.97)
    assert sleep.seconds * 3.6 / 3600 == pytest.approx((226 - 0.97) * (0.01 + 3.6 / 3600))
    assert sleep.sum == "(226.0 - 1.0) s of start + 2.25 USD of waiting / 3.6 USD an hour"


def test_a_node_that_costs_nothing_is_never_given_away():
    evens = list(break_evens(Terms(price=0, penalty=Penalty(0.01)), least=180, restart=RESTART, fresh=FRESH, wake=None))
    assert [even.seconds for even in evens] == [math.inf] * 2
    assert always_on(of(1e5), Terms(price=0, penalty=Penalty(0.01))).usd == 0


def test_without_a_penalty_no_node_is_worth_keeping():
    asked = [60.0 * keep for keep in candidates([300.0, 5000.0], 3, 99_999)]
    terms = Terms(price=3.6, penalty=Penalty())
    assert best_keep(of(300, 5000), terms, asked, restart=RESTART, fresh=FRESH)[0] == 180


def test_candidates_are_whole_minutes_within_what_is_allowed():
    assert candidates([61.0, 120.0, 121.0, 3601.0], 2, 60) == [2, 3]
    assert candidates([1e8], 3, 10**9) == [3, 1_666_680]  # of that many minutes the stack file says hours
    assert policies.HOUR * 27_778 == 1_666_680 * 60


@pytest.mark.parametrize(
    ("asked", "waited", "usd"),
    [
        (None, 100, 0),
        ("0", 100, 0),
        ("0.01", 100, 2),
        ("1e-3", 100, 0.2),
        ("10s:0.01,60s:1", 10, 0),
        ("10s:0.01,60s:1", 10.1, 0.02),
        ("10s:0.01,60s:1", 61, 2),
    ],
)
def test_a_penalty_is_a_rate_or_steps_for_each_request(asked, waited, usd):
    assert penalty_given(asked, 2).usd(waited) == pytest.approx(usd)


FORMS = 'expected USD a second of waiting such as 0.001, or steps "10s:0.01,60s:1" (longer than 10 s costs 0.01 USD)'


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ("-1", FORMS),
        ("nan", FORMS),
        ("1e999", "inf USD; expected at most 1000000"),
        ("cheap", FORMS),
        ("10s:-1", FORMS),
        ("10s:", FORMS),
        ("soon:1", "soon: no time; expected seconds, or a time such as 45s, 20m or 1h2m"),
        ("60s:1,10s:2", "10 s after 60 s, 2 USD after 1; expected both to grow"),
        ("10s:2,60s:1", "60 s after 10 s, 1 USD after 2; expected both to grow"),
    ],
)
def test_what_is_no_penalty_is_refused(asked, said):
    with pytest.raises(UsageError) as refused:
        penalty_given(asked, 1)
    assert str(refused.value) == f"--penalty {asked}: {said}"
