"""Which starts count, and that predictions go through the same sieve as measurements."""

import json

import pytest

from ops.coldstart.report.refit import document, left_out, refitted, table
from tests.ops.report.article import engine, ladder, record, repeated

START = {"container start": 4.0}


def phase(records, name, start="restart"):
    (found,) = refitted(records)
    return next(it for it in found.phases if (it.measured.start, it.measured.phase) == (start, name))


@pytest.mark.parametrize(
    ("role", "more", "why"),
    [
        ("hit", {}, None),
        ("none", {}, None),
        ("load", {}, "load runs"),
        ("hit", {"restarts": 1}, "after a restart of the engine"),
        ("hit", {"source": "logs"}, "of a log alone"),
    ],
)
def test_what_counts_is_a_start_of_a_cluster_with_all_caches_and_no_restart(role, more, why):
    assert left_out(record("step-2", "restart", role, START, 5, **more)) == why


def test_the_articles_steps_come_back_beside_what_is_predicted():
    found = phase(ladder(), "weights")
    assert found.measured.effects == pytest.approx({("streaming-loader",): -108.0, ("node-cache",): 0.0})
    assert found.predicted.effects == pytest.approx({("streaming-loader",): -107.8, ("node-cache",): 0.0}, abs=0.01)


def test_a_technique_that_brings_a_phase_has_its_seconds_as_effect():
    """Without it the phase took 0 s, which nobody has to see."""
    records = [
        record("step-2", "warm node", "hit", START, 5),
        record("step-3", "warm node", "hit", {**START, "restore": 2.0}, 7),
    ]
    found = phase(records, "restore", "warm node")
    assert (found.measured.baseline, found.measured.effects) == (0.0, {("cache-restore",): 2.0})


def test_settings_are_fitted_apart():
    other = record("step-0", "restart", "none", {"weights": 60.0}, 70, subject={"instance_type": "g7e.4xlarge"})
    one, two = refitted([*ladder(), other])
    figures = {
        it.subject.instance_type: next(of.measured.baseline for of in it.phases if of.measured.phase == "weights")
        for it in (one, two)
    }
    assert figures == {"g7e.2xlarge": pytest.approx(127.6), "g7e.4xlarge": pytest.approx(60.0)}


def test_what_cannot_be_told_is_said():
    records = [
        record(None, "restart", "hit", {"compile": 20.0}, 30, subject={"techniques": ("streaming-loader",)}),
        record(None, "restart", "hit", {"compile": 7.0}, 30, subject={"techniques": ("node-cache",)}),
    ]
    (found,) = refitted(records)
    said = table(found)
    assert "not told" in said
    assert said.splitlines()[-1] == "not told: no two configurations differ in it alone; measure one that does"
    (setting,) = json.loads(json.dumps(document([found])))
    assert setting["phases"][0]["notTold"] == [["streaming-loader"], ["node-cache"]]
    assert setting["phases"][0]["baseline"] == {"measured": None, "predicted": None}


def test_what_the_program_does_not_know_is_fitted_and_not_predicted():
    records = [record("step-0", "restart", "none", engine(10, 5, 1), 200, subject={"engine_version": "0.40.0"})]
    (found,) = refitted(records)
    assert all(it.predicted is None for it in found.phases)
    assert found.doubt == "no vLLM 0.40.0 here, only 0.26.0, 0.33.0"
    assert "not predicted: no vLLM 0.40.0 here, only 0.26.0, 0.33.0" in table(found)


def test_effects_within_the_spread_are_one_line_and_in_json_each():
    (found,) = refitted(repeated())
    assert "node-cache, streaming-loader: within the spread" in table(found)
    (setting,) = document([found])
    restart = next(it for it in setting["phases"] if (it["start"], it["phase"]) == ("restart", "imports"))
    assert [it["techniques"] for it in restart["effects"]] == [["node-cache"], ["streaming-loader"]]
