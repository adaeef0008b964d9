"""How a server comes back: predicted for each policy, or measured."""

import json
from datetime import UTC, datetime

import pytest

from ops.coldstart.record import Record, Subject
from ops.idle.plan.returns import Wanted, measured, unfit
from ops.stack.stack_file import read
from serving.budget.predict import in_force, predicted
from serving.budget.timeline import total
from serving.server import situation
from tests.ops.idle.conftest import BURSTS, POOL


def document(found):
    code, out, _ = found
    assert code == 0
    return json.loads(out)


def record(start="restart", seconds=60.0, *, role="hit", source="cluster", **subject):
    whose = {"server": "gemma", "engine_version": "0.33.0", "instance_type": "g7e.2xlarge", **subject}
    return Record(
        began=datetime(2026, 11, 30, tzinfo=UTC),
        start=start,
        role=role,
        source=source,
        subject=Subject(**whose),
        phases={},
        total=seconds,
        unattributed=seconds,
    )


WHO = Wanted(server="gemma", engine_version="0.33.0", instance_type="g7e.2xlarge", techniques=frozenset({"a", "b"}))


@pytest.mark.parametrize(
    ("found", "why"),
    [
        (record(), ""),
        (record(role="none", techniques=("b", "a")), ""),
        (record(server=None, instance_type=None), ""),
        (record(role="load"), "fills a cache"),
        (record(source="logs"), "of a log: without the node's part"),
        (record(server="other"), "of another server"),
        (record(engine_version="0.26.0"), "of another engine"),
        (record(instance_type="g7e.4xlarge"), "of another instance type"),
        (record(techniques=("a",)), "with other techniques"),
    ],
)
def test_only_hit_runs_of_this_very_server_are_measurements(found, why):
    """Article 000, 2.1: a run that fills a cache gains nothing."""
    assert unfit(found, WHO) == why


def test_the_median_of_hit_runs_counts_and_says_so():
    runs = [record(seconds=seconds) for seconds in (70.0, 60.0, 200.0)]
    found, passed_over = measured([*runs, record(role="load", seconds=1.0)], [WHO])
    assert found["restart"].seconds == 70
    assert found["restart"].source == "measured, median of 3 runs, 60.0 to 200.0 s"
    assert passed_over == {"fills a cache": 1}


def test_measured_returns_take_the_place_of_predicted_ones(plan, folder):
    lines = [record(seconds=50.0), record("fresh node", 300.0), record("fresh node", 1.0, role="load")]
    (folder / "runs.jsonl").write_text("\n".join(it.line() for it in lines))
    found = document(plan("--measured", "runs.jsonl", "--json"))
    assert {name: it["source"] for name, it in found["returns"].items()} == {
        "fresh node": "measured, 1 run",
        "restart": "measured, 1 run",
        "warm node": "predicted",
        "wake": "predicted",
    }
    assert (found["returns"]["restart"]["seconds"], found["notCounted"]) == (50, {"fills a cache": 1})
    (folder / "runs.jsonl").write_text("{}")
    code, _, err = plan("--measured", "runs.jsonl")
    assert (code, err.splitlines()[-1][:37]) == (3, "runs.jsonl:1: not a measured start: s")


def test_a_warm_node_is_as_far_away_as_the_preview_of_its_settings_says(plan, edit):
    """The pause pod that holds it has to go first, so it is not there at once."""
    warm = document(plan("--intervals", BURSTS, "--json"))["returns"]["warm node"]["seconds"]
    edit(lambda settings: settings["gpuPools"][POOL].update(warmNodes=1))
    stack = read("dev")
    server = stack.settings.servers["gemma"]
    about = situation(server, stack.settings.pools[POOL], stack.region)
    kind = stack.settings.pools[POOL].types[0]
    names = in_force(about, server.chosen)
    assert warm == pytest.approx(total(predicted(about, names, "fresh node", kind)))
    assert warm > total(predicted(about, names, "warm node", kind))


def test_returns_are_predicted_for_this_server_and_type(folder, plan):
    found = document(plan("--json", "--instance-type", "g7e.4xlarge", "--spot-price", "1.5"))
    stack = read("dev")
    server = stack.settings.servers["gemma"]
    about = situation(server, stack.settings.pools[POOL], stack.region)
    (kind,) = [it for it in about.pool.types if it.name == "g7e.4xlarge"]
    names = in_force(about, server.chosen)
    for start in ("fresh node", "restart"):
        seconds = total(predicted(about, names, start, kind))
        assert found["returns"][start] == {"seconds": pytest.approx(seconds), "source": "predicted"}
    # of the server as it would be: today it cannot sleep
    assert found["returns"]["wake"]["seconds"] == pytest.approx(0.97)
    assert (found["instanceType"], found["usdPerHour"], found["policies"]) == ("g7e.4xlarge", 1.5, [])
