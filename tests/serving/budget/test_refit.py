"""What measured starts say: exact where they tell it, silent where they do not."""

from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from serving.budget.refit import Measured, Refit, refit

A, B, C = "streaming-loader", "node-cache", "cache-restore"


def run(seconds: float, *names: str, start: str = "restart", phase: str = "compile") -> Measured:
    return Measured(start, frozenset(names), {phase: seconds})  # type: ignore[arg-type, dict-item]


def only(*runs: Measured) -> Refit:
    (it,) = refit(runs)
    return it


def test_the_articles_ladder_gives_back_its_steps() -> None:
    said = only(run(127.6, phase="weights"), run(19.8, A, phase="weights"), run(19.8, A, B, phase="weights"))
    assert said.baseline == pytest.approx(127.6)
    assert said.effects == pytest.approx({(A,): -107.8, (B,): 0.0})
    assert (said.configurations, said.runs, said.including, said.untold) == (3, 3, (), ())
    assert said.spread == pytest.approx(0)


def test_one_slow_start_among_repeats_weighs_nothing() -> None:
    said = only(run(50), run(51), run(300), run(6), run(7, B), run(7, B), run(7, B))
    assert said.baseline == 50.5
    assert said.effects == {(B,): -43.5}
    assert said.spread == 249.5


def test_techniques_that_came_only_together_stay_together() -> None:
    said = only(run(51), run(7, B, C))
    assert said.effects == {(C, B): -44.0}
    assert said.untold == ()


def test_a_technique_of_every_run_is_part_of_the_baseline_and_named() -> None:
    said = only(run(50, A), run(7, A, B))
    assert (said.baseline, said.including) == (50.0, (A,))
    assert said.effects == {(B,): -43.0}


def test_techniques_that_no_pair_of_runs_tells_apart_are_not_told() -> None:
    """Two runs, each with a technique that the other has not: only the difference of both is known."""
    said = only(run(20, A), run(7, B))
    assert said.baseline is None
    assert said.effects == {}
    assert said.untold == ((A,), (B,))
    assert said.spread == pytest.approx(0)


def test_what_is_told_is_told_beside_what_is_not() -> None:
    said = only(run(20, A), run(7, B), run(17, A, C))
    assert said.baseline is None
    assert said.effects == {(C,): pytest.approx(-3.0)}
    assert set(said.untold) == {(A,), (B,)}


def test_effects_that_do_not_add_up_show_in_the_spread() -> None:
    said = only(run(50), run(10, A), run(10, B), run(10, A, B))
    assert said.effects == pytest.approx({(A,): -20.0, (B,): -20.0})
    assert said.spread == pytest.approx(10)


def test_a_phase_that_was_not_measured_is_not_zero() -> None:
    said = refit([Measured("restart", frozenset(), {"compile": 50.0}), Measured("restart", frozenset({B}), {})])
    assert [(it.phase, it.baseline, it.effects) for it in said] == [("compile", 50.0, {})]


def test_starts_and_phases_are_told_apart_and_stand_in_their_order() -> None:
    said = refit(
        [
            run(1, start="restart", phase="graphs"),
            run(2, start="restart", phase="imports"),
            run(3, start="fresh node", phase="graphs"),
        ]
    )
    assert [(it.start, it.phase, it.baseline) for it in said] == [
        ("fresh node", "graphs", 3.0),
        ("restart", "imports", 2.0),
        ("restart", "graphs", 1.0),
    ]


def test_no_runs_say_nothing() -> None:
    assert refit([]) == []


FIGURES = st.integers(min_value=-50, max_value=50)


@given(baseline=st.integers(min_value=200, max_value=500), effects=st.tuples(FIGURES, FIGURES, FIGURES), data=st.data())
def test_whatever_is_told_of_runs_that_add_up_is_true(
    baseline: int, effects: tuple[int, ...], data: st.DataObject
) -> None:
    true = dict(zip((A, B, C), effects, strict=True))
    every = [names for count in range(4) for names in combinations(true, count)]
    chosen = data.draw(st.lists(st.sampled_from(every), min_size=1, max_size=6))
    said = only(*(run(baseline + sum(true[name] for name in names), *names) for names in chosen))
    if said.baseline is not None:
        assert said.baseline == pytest.approx(baseline + sum(true[name] for name in said.including))
    for names, difference in said.effects.items():
        assert difference == pytest.approx(sum(true[name] for name in names))
    assert said.spread == pytest.approx(0, abs=1e-9)
    shown = {name for names in (*said.effects, *said.untold, said.including) for name in names}
    assert shown == {name for names in chosen for name in names}
