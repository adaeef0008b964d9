"""What a record says of a start: whether caches were filled or used, and what it was, whatever was asked for."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from ops.coldstart.measure.announce import announcement, expected_seconds
from ops.coldstart.measure.provoke import Before
from ops.coldstart.measure.seen.events import Pulled
from ops.coldstart.measure.seen.fold import folded
from ops.coldstart.measure.seen.start import Node
from ops.coldstart.measure.target import Target, refuse_before_the_clock
from ops.coldstart.measure.written import happened, record, role, unlike
from ops.coldstart.server import Server
from ops.coldstart.shown import table
from ops.failures import RefusedError
from ops.stack.stack_file import read
from serving.techniques import TECHNIQUES
from tests.ops.coldstart.measure.played.script import RESTORED
from tests.ops.coldstart.measure.pure.test_fold import ZERO, engine, seen

BOTH = ("node-cache", "cache-restore")
NO_LINE = (
    "no line of the restore: counted as a start that fills caches; kubectl logs --timestamps --all-containers --prefix"
    " has it"
)
UNSURE = "the logs do not say whether caches were used: counted as a start that fills them"


@pytest.mark.parametrize(
    ("techniques", "restore", "compiled", "what"),
    [
        ((), None, "miss", "none"),
        (("node-cache",), None, "hit", "hit"),
        (("node-cache",), None, "miss", "load"),
        (BOTH, "hit", "hit", "hit"),
        (BOTH, "present", "hit", "hit"),
        (BOTH, "hit", "miss", "load"),
        (BOTH, "base", "hit", "load"),
        (BOTH, "miss", "hit", "load"),
        (BOTH, "timeout", "unknown", "load"),
        (BOTH, "hit", "none", "hit"),
    ],
)
def test_a_start_is_a_hit_only_when_every_cache_was(techniques, restore, compiled, what):
    assert role(techniques, restore, compiled) == (what, "")


@pytest.mark.parametrize(
    ("techniques", "restore", "compiled", "why"),
    [
        (BOTH, None, "hit", NO_LINE),
        (BOTH, "hit", "unknown", UNSURE),
        (("node-cache",), None, "none", UNSURE),
        (BOTH, None, "unknown", NO_LINE),
    ],
)
def test_what_nobody_says_is_never_an_improvement(techniques, restore, compiled, why):
    assert role(techniques, restore, compiled) == ("load", why)


def test_where_the_pod_came_decides_what_start_it_was():
    there = Node(name="n", created=ZERO - 100, ready=ZERO - 90, ahead=0.0, labels={})
    assert happened(seen(), Before(pods=frozenset(), node="n")) == "fresh node"
    assert happened(seen(node=there), Before(pods=frozenset(), node="n")) == "restart"
    assert happened(seen(node=there), Before(pods=frozenset(), node="other")) == "warm node"


@pytest.fixture
def target(folder):
    server = Server.of(read("dev"), "gemma")
    return Target(server=server, namespace="inference", deployment={"spec": {"replicas": 1}}, pods=[])


def written(target, asked="restart", restore="", **more):
    it = seen(**more)
    before = Before(pods=frozenset(), node="old")
    start = happened(it, before)
    return record(
        target.server,
        start,
        it,
        folded(it, engine(), restores=True, primes=False),
        engine(),
        restore=restore,
        notes=[unlike(asked, start, it, before)],
        token=0.061,
    )


def test_a_start_that_became_another_is_written_down_as_what_it_was(target):
    made = written(target, restore=RESTORED.format(outcome="hit"))
    assert (made.start, made.role, made.restore) == ("fresh node", "hit", "hit")
    assert made.notes == ("asked for restart, and it was a fresh node: the pod came on n, not old",)
    assert made.first_token == 140.061
    assert made.began == datetime.fromtimestamp(ZERO, UTC)
    assert made.subject.fingerprint
    assert list(made.subject.techniques) == [it for it in TECHNIQUES if it in target.server.techniques]


def test_a_warm_node_that_was_not_empty_is_told(target):
    there = Node(name="n", created=ZERO - 100, ready=ZERO - 90, ahead=0.0, labels={})
    made = written(target, "warm-node", RESTORED.format(outcome="present"), node=there)
    assert made.notes == ("n had the image or the cache already",)
    made = written(target, "warm-node", RESTORED.format(outcome="hit"), node=there, pull=Pulled(how="already present"))
    assert made.notes == ("n had the image or the cache already",)


def test_people_see_phases_the_rest_and_what_to_know(target):
    lines = table(written(target, restore=RESTORED.format(outcome="hit"))).splitlines()
    assert lines[0].endswith("on a node without labels; caches: hit, compile: hit, image: pulled, restore: hit")
    assert lines[1].split() == ["node", "30.0", "s"]
    assert lines[-4].split() == ["unattributed", "2.5", "s"]
    assert lines[-3] == "  total                140.0 s, at most 1 s of it waiting for a probe"
    assert lines[-2].split() == ["first", "token", "140.1", "s"]
    assert lines[-1] == "  note: asked for restart, and it was a fresh node: the pod came on n, not old"


def test_labels_of_a_node_that_is_not_karpenters_are_unknown_and_no_error(target):
    assert target.server.subject({"karpenter.sh/capacity-type": "block"}, None, None).capacity is None


def test_minutes_and_money_are_multiplied_and_an_unknown_price_is_said(target):
    (kind, *_) = target.server.situation.pool.types
    seconds = expected_seconds(target, "restart", kind)
    text, minutes = announcement(target, "restart", ["x"], repeat=3, overhead=80.0, instance=kind.name)
    assert minutes == pytest.approx((seconds + 80) / 60 * 3)
    price = target.server.situation.pool.price(kind.name, target.server.stack.region)
    usd = (
        f"about {minutes / 60 * price.usd:.2f} USD on-demand ({price.source})"
        if price
        else (f"USD unknown: no price of {kind.name} in us-west-2 (gpuPools.<name>.prices)")
    )
    assert text.splitlines() == [
        "servers.gemma in Deployment inference/gemma, situation restart, 3 times, one after another; names below are"
        " those of the first:",
        "  x",
        f"  predicted: {seconds:.0f} s from pod to ready on g7e.2xlarge, 80 s to get there",
        f"  expected in all: {minutes:.1f} min, {minutes:.1f} GPU minutes, {usd}",
    ]


def test_a_clock_that_strikes_in_the_middle_forbids_it(edit, folder):
    schedule = {"stop": "0 20 * * mon-fri", "start": "30 7 * * mon-fri", "timeZone": "Asia/Seoul"}
    edit(lambda settings: settings["servers"]["gemma"].update(idle={"schedule": schedule}))
    target = Target(server=Server.of(read("dev"), "gemma"), namespace="inference", deployment={}, pods=[])
    # 19:50 in Seoul on a Monday
    now = datetime(2026, 11, 30, 10, 50, tzinfo=UTC)
    refuse_before_the_clock(target, 9.0, now)
    with pytest.raises(RefusedError) as caught:
        refuse_before_the_clock(target, 12.0, now)
    assert str(caught.value) == (
        "servers.gemma.idle.schedule: strikes in 10 min, and the measurement may take 12 min: wait, or suspend the"
        " CronJobs gemma-stop and gemma-start"
    )
    # Sunday night: the week begins anew
    refuse_before_the_clock(target, 60.0, datetime(2026, 11, 29, 14, 59, tzinfo=UTC))
