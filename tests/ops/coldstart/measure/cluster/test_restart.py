"""A pod that comes again on its node, on the real control plane."""

from __future__ import annotations

import pytest

from tests.ops.coldstart.measure.played.truth import as_played


def test_a_restart_comes_out_as_it_was_played(serving):
    (old,) = serving.pods()
    (record,) = serving.measured("restart")
    (pod,) = serving.pods()
    assert pod["metadata"]["uid"] != old["metadata"]["uid"]
    assert pod["spec"]["nodeName"] == old["spec"]["nodeName"]
    as_played(record, serving.stage, pod["metadata"]["uid"])
    assert (record.start, record.role, record.pull, record.restore) == ("restart", "hit", "already present", "present")
    assert (record.compile, record.restarts, record.notes) == ("hit", 0, ())
    assert record.ready == record.total
    assert record.first_token == pytest.approx(record.total + 0.05)
    assert serving.deployment()["spec"]["replicas"] == 1
    assert {"1 of 1: looking", "1 of 1: restore", "1 of 1: engine", "1 of 1: first request"} <= set(serving.said)


def test_a_node_whose_clock_is_half_a_minute_ahead_comes_out_as_it_was_played(serving):
    """Its lease tells, because the API server notes by its own clock when that was written."""
    serving.stage.ahead = 30.0
    (record,) = serving.measured("restart")
    (pod,) = serving.pods()
    as_played(record, serving.stage, pod["metadata"]["uid"])
    (note,) = record.notes
    assert note.startswith(f"the clock of {pod['spec']['nodeName']} is ")
    assert note.endswith(" s ahead of the API server's: its times are moved")
