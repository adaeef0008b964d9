"""The prediction gives back what article 000 measured."""

import pytest

from benchmarks.ladder import MEASURED
from serving.budget.timeline import PHASES, Start
from tests.serving.budget.article import STEPS, seconds, timeline

TOLERANCE = 0.10
"""The article's own totals move in steps of 10 s, which is what its probe asks by."""


@pytest.mark.parametrize(("step", "start", "measured"), [(*of, seconds) for of, seconds in MEASURED.items()])
def test_a_predicted_start_is_within_a_tenth_of_the_articles(step: str, start: Start, measured: float) -> None:
    assert seconds(step, start) == pytest.approx(measured, rel=TOLERANCE)


@pytest.mark.parametrize(
    ("step", "start", "phase", "measured"),
    [
        ("step-0", "fresh node", "weights", 127.6),
        ("step-1", "fresh node", "weights", 19.8),
        ("step-0", "fresh node", "compile", 51.0),
        ("step-2", "restart", "compile", 6.6),
        ("step-3", "fresh node", "compile", 6.98),
        ("step-5", "wake", "wake", 0.97),
    ],
)
def test_a_phase_that_the_article_measured_is_exactly_that_and_said_to_be_measured(
    step: str, start: Start, phase: str, measured: float
) -> None:
    it = timeline(step, start)[phase]
    assert round(it.value, 2) == measured
    assert it.evidence == "measured"


@pytest.mark.parametrize(
    ("step", "start", "measured"),
    [("step-0", "fresh node", 93.9), ("step-2", "restart", 29.6), ("step-3", "fresh node", 30.4)],
)
def test_phases_whose_sum_the_article_measured_sum_up_to_it(step: str, start: Start, measured: float) -> None:
    init = [timeline(step, start)[phase].value for phase in ("compile", "kernels", "graphs")]
    assert sum(init) == pytest.approx(measured, abs=0.5)


def test_what_comes_before_the_weights_takes_the_articles_39_seconds() -> None:
    phases = timeline("step-0", "restart")
    before = [phases[phase].value for phase in ("imports", "model inspection", "engine imports")]
    assert sum(before) == pytest.approx(39)


def test_a_cold_start_less_a_restart_is_node_scheduling_and_pull() -> None:
    cold, warm = timeline("step-0", "fresh node"), timeline("step-0", "restart")
    assert [phase for phase in PHASES if phase in cold and phase not in warm] == ["node", "scheduling", "image pull"]


def test_every_step_starts_no_slower_than_the_one_before() -> None:
    for start in ("fresh node", "warm node", "restart"):
        # step 3 buys new nodes with the second that its container takes at a restart
        steps = [step for step in list(STEPS)[:5] if not (start == "restart" and step > "step-2")]
        totals = [seconds(step, start) for step in steps]
        assert totals == sorted(totals, reverse=True)


def test_nothing_wakes_without_sleep_mode() -> None:
    for step in ("step-0", "step-4"):
        assert not timeline(step, "wake")
