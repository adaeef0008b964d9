"""From what was seen to phases: none over another, none outside the start, and clocks that disagree are told of."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ops.coldstart.log import read
from ops.coldstart.measure.seen.clock import moment, skew
from ops.coldstart.measure.seen.events import Pulled
from ops.coldstart.measure.seen.fold import folded, is_new
from ops.coldstart.measure.seen.start import Node, Ran, Seen
from ops.coldstart.record import Record, Subject
from tests.ops.coldstart.measure.played.script import spoken

ZERO = 1_796_000_000.0


def seen(**more) -> Seen:
    """A fresh node after 30 s, bound at 32, 60 s of pull, restore 95-97, engine from 98, Ready at 140."""
    ahead = more.pop("ahead", 0.0)
    clock = ahead if ahead is not None else more.pop("really", 0.0)

    def on_node(seconds: float) -> float:
        return ZERO + clock + seconds

    node = Node(name="n", created=ZERO + 25, ready=on_node(30), ahead=ahead, labels={})
    values = {
        "pod": "p",
        "created": ZERO,
        "scheduled": ZERO + 32,
        "ready": on_node(140),
        "node": node,
        "containers": {
            "cache": Ran(started=on_node(95), finished=on_node(97)),
            "vllm": Ran(started=on_node(98)),
        },
        "pull": Pulled(how="pulled", begin=on_node(34), end=on_node(94)),
        "restarts": 0,
        "image": "i",
        "probe_seconds": 1.0,
    }
    return Seen(**{**values, **more})


def engine(began: float = 98.0, clock: float = 0.0):
    return read(spoken(ZERO + clock + began).splitlines(), "0.33.0")


def spans(result) -> dict[str, tuple[float, float]]:
    return {phase: (span.begin, span.end) for phase, span in result.phases.items()}


def test_phases_stand_in_the_order_in_which_they_passed():
    result = folded(seen(), engine(), restores=True, primes=False)
    assert spans(result) == {
        "node": (0, 30),
        "scheduling": (30, 32),
        "container start": (32, 34),
        "image pull": (34, 94),
        "restore": (95, 97),
        "imports": (98, 98.9),
        "model inspection": (98.9, 99.1),
        "engine imports": (99.1, 99.9),
        "weights": (99.9, 100.7),
        "compile": (100.8, 101.3),
        "kernels": (101.4, 101.6),
        "graphs": (101.6, 102.6),
        "API start": (102.8, 103.1),
        "readiness": (103.2, 140),
    }
    assert (result.total, result.notes) == (140.0, ())
    # pulled to restore, restore to engine, weights to compile, compile to kernels, two within the engine's init
    assert result.unattributed == pytest.approx(1 + 1 + 0.1 + 0.1 + 0.2 + 0.1)


def test_what_lies_over_another_is_cut_and_told():
    two = {"cache": Ran(started=ZERO + 95, finished=ZERO + 100.5), "vllm": Ran(started=ZERO + 98)}
    result = folded(seen(containers=two), engine(), restores=True, primes=False)
    assert spans(result)["restore"] == (95, 100.5)
    assert spans(result)["imports"] == (100.5, 100.5)
    assert result.notes == (
        "imports begins 2.5 s before restore ends: cut",
        "model inspection begins 1.6 s before imports ends: cut",
        "engine imports begins 1.4 s before model inspection ends: cut",
    )


def test_a_folder_that_is_only_made_is_no_restore():
    assert "restore" not in folded(seen(), engine(), restores=False, primes=False).phases


def test_a_first_sleep_and_wake_is_priming_and_no_readiness():
    lines = spoken(ZERO + 98).splitlines()
    prefix = "(EngineCore pid=9) INFO 11-30 10:00:00 [abstract.py:327] It took"
    for at, said in ((116, "12.733878 seconds to fall asleep."), (117, "0.67 seconds to wake up tags {'weights'}.")):
        lines.append(f"{spoken_at(at)} {prefix} {said}")
    result = folded(seen(), read(lines, "0.33.0"), restores=True, primes=True)
    assert spans(result)["priming"] == (103.2, 117)
    assert spans(result)["readiness"] == (117, 140)


def spoken_at(seconds: float) -> str:
    return spoken(ZERO + seconds - 0.9).splitlines()[0].partition(" ")[0]


def test_a_node_that_was_there_before_is_no_phase():
    there = Node(name="n", created=ZERO - 100, ready=ZERO - 90, ahead=0.0, labels={})
    result = folded(seen(node=there), None, restores=True, primes=False)
    assert spans(result)["scheduling"] == (0, 32)
    assert "node" not in result.phases
    assert is_new(seen())
    assert not is_new(seen(node=there))


def test_a_pod_that_is_bound_in_the_second_of_its_creation_is_scheduled_before_its_pull():
    """Created at .1, which is .5 for all that anybody knows, bound at .15, and kubelet pulls at once."""
    there = Node(name="n", created=ZERO - 100, ready=ZERO - 90, ahead=0.0, labels={})
    pull = Pulled(how="pulled", begin=ZERO + 0.2, end=ZERO + 60.5)
    result = folded(
        seen(node=there, created=ZERO + 0.5, scheduled=ZERO + 0.15, pull=pull), None, restores=True, primes=False
    )
    assert list(spans(result)) == ["scheduling", "container start", "image pull", "restore"]
    assert spans(result)["image pull"] == (0, 60)
    assert result.notes == ()


def test_an_image_that_is_present_is_no_pull_and_the_first_container_ends_the_preparation():
    result = folded(seen(pull=Pulled(how="already present")), None, restores=True, primes=False)
    assert "image pull" not in result.phases
    assert spans(result)["container start"] == (32, 95)


@pytest.mark.parametrize(("ahead", "how"), [(40.0, "40.0 s ahead of"), (-40.0, "40.0 s behind")])
def test_a_clock_that_its_lease_gives_away_is_moved(ahead, how):
    result = folded(seen(ahead=ahead), engine(clock=ahead), restores=True, primes=False)
    right = folded(seen(), engine(), restores=True, primes=False)
    assert spans(result) == spans(right)
    assert result.notes == (f"the clock of n is {how} the API server's: its times are moved",)


def test_a_clock_of_which_nobody_tells_is_noticed_when_it_is_behind():
    result = folded(seen(ahead=None, really=-100.0), engine(clock=-100), restores=True, primes=False)
    assert result.total == 40.0
    assert result.notes[0] == (
        "a container started 5.0 s before its pod was made: the clock of n is behind the API server's by that or more,"
        " and phases are cut"
    )
    assert all(0 <= begin <= end <= 40 for begin, end in spans(result).values())


def test_a_log_with_the_engines_own_times_gives_no_phases():
    lines = [line.partition(" ")[2] for line in spoken(ZERO + 98).splitlines()]
    result = folded(seen(), read(lines, "0.33.0"), restores=True, primes=False)
    assert "weights" not in result.phases
    assert "the engine's log has no times of the container runtime: its phases are left out" in result.notes


def test_a_container_that_was_started_again_is_told():
    result = folded(seen(restarts=2), engine(), restores=True, primes=False)
    assert result.notes == ("the engine was started 3 times: what came before the last is unattributed",)


seconds = st.floats(-300, 300, allow_nan=False)


@given(
    st.lists(st.tuples(seconds, st.floats(0, 100)), min_size=1, max_size=4),
    *[seconds] * 6,
    st.one_of(st.none(), st.floats(-100, 100)),
)
def test_whatever_was_seen_phases_never_overlap_and_sum_up(parts, scheduled, ready, node, made, begin, end, ahead):
    names = ("imports", "weights", "graphs", "API start")
    log = SimpleNamespace(
        clock="runtime",
        first=ZERO,
        serving=ZERO + max(at for at, _ in parts),
        wakes=((ZERO + ready, 0.5),),
        spans={name: SimpleNamespace(begin=at, end=at + long) for name, (at, long) in zip(names, parts, strict=False)},
    )
    result = folded(
        seen(
            scheduled=ZERO + scheduled,
            ready=ZERO + ready,
            node=Node(name="n", created=ZERO + made, ready=ZERO + node, ahead=ahead, labels={}),
            pull=Pulled(how="pulled", begin=ZERO + begin, end=ZERO + end),
        ),
        log,
        restores=True,
        primes=True,
    )
    # it refuses what overlaps, passes the end, or does not sum up
    record = Record(
        began=None,
        start="restart",
        role="none",
        source="cluster",
        subject=Subject(engine_version="0.33.0"),
        phases=result.phases,
        total=result.total,
        unattributed=result.unattributed,
    )
    assert record.phases == result.phases


def test_times_of_whole_seconds_are_the_middle_of_their_second():
    assert moment("2026-11-30T10:00:00Z") == moment("2026-11-30T10:00:00.500000Z")
    assert moment("2026-11-30T10:00:00.123456789Z") == pytest.approx(moment("2026-11-30T10:00:00.123456Z"), abs=1e-5)


def lease(renewed, *noted):
    fields = [{"manager": "kubelet", "time": it} for it in noted]
    return {"metadata": {"managedFields": fields}, "spec": {"renewTime": renewed}}


def test_a_lease_tells_how_far_a_nodes_clock_is_ahead_to_half_a_second():
    behind = lease("2026-11-30T09:59:30.500000Z", "2026-11-30T09:00:00Z", "2026-11-30T10:00:00Z")
    assert skew([behind]) == -30.0
    assert skew([lease("2026-11-30T10:00:00.900000Z", "2026-11-30T10:00:00Z")]) == pytest.approx(0.4)


def test_several_leases_tell_it_better():
    """The clock is 10.25 s ahead, and the API server wrote at .1, .8 and .3 of its seconds."""
    its = [
        lease("2026-11-30T10:00:10.350000Z", "2026-11-30T10:00:00Z"),
        lease("2026-11-30T10:00:21.050000Z", "2026-11-30T10:00:10Z"),
        lease("2026-11-30T10:00:30.550000Z", "2026-11-30T10:00:20Z"),
    ]
    assert skew(its) == pytest.approx(10.2, abs=0.001)


def test_a_clock_that_was_set_in_between_is_what_it_was_in_the_end():
    before = lease("2026-11-30T10:01:00.500000Z", "2026-11-30T10:00:00Z")
    assert skew([before, lease("2026-11-30T10:00:10.500000Z", "2026-11-30T10:00:10Z")]) == 0.0


@pytest.mark.parametrize("one", [lease(None), lease("2026-11-30T10:00:00.5Z"), {"metadata": {}, "spec": {}}])
def test_a_lease_that_says_nothing_is_no_skew_of_zero(one):
    assert skew([one]) is None
    assert skew([]) is None
