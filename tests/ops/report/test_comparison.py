"""Improvements are made of starts that took everything from caches, step by step."""

import pytest

from ops.coldstart.report.starts.comparison import Change, comparisons
from ops.coldstart.report.starts.configuration import settings
from tests.ops.report.article import engine, ladder, record

START = {"container start": 4.0}


def compared(records, start="restart"):
    (setting,) = settings(records)
    return next(it for it in comparisons(setting) if it.start == start)


def test_the_articles_table_comes_back():
    rows = compared(ladder()).rows
    assert [(it.name, it.n, it.left_out) for it in rows] == [("step-0", 1, 0), ("step-1", 1, 0), ("step-2", 1, 1)]
    shown = [
        {name: round(it.median, 2) for name, it in row.figures.items() if name not in ("total", "first token")}
        for row in rows
    ]
    assert shown == [
        {"ready": 314, "image pull": 0, "weights": 127.8, "engine init": 94.0, "compile": 51.0},
        {"ready": 204, "image pull": 0, "weights": 19.8, "engine init": 94.4, "compile": 51.1},
        {"ready": 133, "image pull": 0, "weights": 19.8, "engine init": 29.6, "compile": 6.6},
    ]
    assert [it.to_before and it.to_before.seconds for it in rows] == [None, -110, -71]
    assert [it.to_first and round(it.to_first.share, 4) for it in rows] == [None, -0.3503, -0.5764]


def test_load_runs_never_make_an_improvement():
    rows = {it.name: it for it in compared(ladder(), "fresh node").rows}
    assert (rows["step-2"].n, rows["step-2"].figures, rows["step-2"].to_before) == (0, {}, None)
    # the load run of step 4 took 297 s, that of step 2 306 s
    assert rows["step-4"].figures["ready"].median == 226
    assert rows["step-4"].to_before == Change(-202, -202 / 428, doubtful=False)


def test_the_row_before_is_the_last_one_with_a_figure():
    rows = compared(ladder(), "fresh node").rows
    assert [it.name for it in rows] == ["step-0", "step-2", "step-4"]
    assert rows[2].to_before == rows[2].to_first


@pytest.mark.parametrize(("faster", "doubtful"), [(9.9, True), (10.1, False)])
def test_a_change_within_a_probe_period_is_doubtful(faster, doubtful):
    records = [
        record("step-0", "restart", "none", {**START, **engine(10.0, 10.0, 1.0)}, 200),
        record("step-1", "restart", "none", {**START, **engine(10.0, 10.0, 1.0)}, 200 - faster),
    ]
    assert compared(records).rows[1].to_before.doubtful is doubtful


def test_a_wake_is_measured_until_it_serves_and_doubts_nothing():
    records = [
        record("step-5", "wake", "hit", {"wake": 0.97}, 0.97),
        record("short-idle", "wake", "hit", {"wake": 0.80}, 0.80),
    ]
    found = compared(records, "wake")
    assert found.measure == "total"
    assert found.rows[1].to_before == Change(pytest.approx(-0.17), pytest.approx(-0.17 / 0.97), doubtful=False)


def test_a_row_that_never_was_ready_has_no_figure_beside_those_that_were():
    records = [
        record("step-0", "restart", "none", START, 300),
        record("step-1", "restart", "none", START, 200, ready=None),
    ]
    found = compared(records)
    assert found.measure == "ready"
    assert ("ready" in found.rows[1].figures, found.rows[1].to_before) == (False, None)


def test_an_image_is_present_when_kubelet_said_so_of_every_start():
    here = record("step-0", "restart", "none", START, 30, pull="already present")
    there = record("step-0", "restart", "none", START, 31)
    assert compared([here]).rows[0].present is True
    assert compared([here, there]).rows[0].present is False


def test_a_change_from_nothing_has_no_share():
    records = [record("step-0", "wake", "none", {}, 0), record("step-1", "wake", "none", {}, 1)]
    assert compared(records, "wake").rows[1].to_before == Change(1, None, doubtful=False)
