"""`--fail-on`: what is beyond a limit, what is not, and what cannot be told."""

import pytest

from ops.failures import UsageError
from ops.impact.drift import CLASS_TYPE
from ops.impact.limits import RULES, parse, verdicts
from ops.impact.plan import DEPLOYMENT
from tests.ops.impact.plans import changed, key, predicted, resource, spec
from tests.ops.impact.servers.test_servers import MISSES, flag, keeps


def said(change, *limits, **more):
    found = verdicts(changed(change, **more), [parse(it) for it in limits])
    return [line for it in found for line in it.passed], [line for it in found for line in it.unclear]


def starts(**seconds):
    return lambda it: it["outputs"]["servers"]["chat"].update(predicted=predicted(**seconds))


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        (
            "speed=1",
            "--fail-on speed=1: no such rule; expected one of fresh-node, warm-node, restart, wake, cold-compile,"
            " downtime, drift, replacements, deletions, usd-per-hour",
        ),
        ("", f"--fail-on '': no such rule; expected one of {', '.join(RULES)}"),
        ("restart", "--fail-on restart: restart takes +10s, +5% or 200s"),
        ("restart=fast", "--fail-on restart=fast: restart takes +10s, +5% or 200s"),
        ("restart=5%", "--fail-on restart=5%: restart takes +10s, +5% or 200s"),
        ("restart=+10", "--fail-on restart=+10: restart takes +10s, +5% or 200s"),
        ("cold-compile=1", "--fail-on cold-compile=1: cold-compile takes no limit"),
        ("downtime=+60s", "--fail-on downtime=+60s: downtime takes 60s"),
        ("replacements=x", "--fail-on replacements=x: replacements takes 0, or another number"),
        ("usd-per-hour=1", "--fail-on usd-per-hour=1: usd-per-hour takes +1.0"),
        ("drift\n=1", "--fail-on drift\\n=1: no such rule; expected one of " + ", ".join(RULES)),
    ],
)
def test_a_limit_that_means_nothing_is_usage(asked, message):
    with pytest.raises(UsageError) as error:
        parse(asked)
    assert str(error.value) == message


@pytest.mark.parametrize(
    ("limit", "after", "line"),
    [
        ("restart=+10s", 87.0, None),
        ("restart=+10s", 87.1, "restart 77 s -> 87.1 s, more than 87 s"),
        ("restart=+5%", 80.8, None),
        ("restart=+5%", 80.9, "restart 77 s -> 80.9 s, more than 80.85 s"),
        ("restart=80s", 80.0, None),
        ("restart=70s", 77.0, "restart 77 s as before, more than 70 s"),
        ("restart=80s", 81.0, "restart 77 s -> 81 s, more than 80 s"),
        ("restart=+0s", 70.0, None),
        ("wake=+1s", 99.0, None),
    ],
)
def test_a_start_may_be_slower_by_so_much(limit, after, line):
    passed = [f"--fail-on {limit}: server chat: {line}"] if line else []
    assert said(starts(freshNode=176.0, restart=after), limit) == (passed, [])


def test_a_new_server_is_no_slower_than_anything_and_may_be_too_slow():
    def add(document):
        document["outputs"]["servers"]["new"] = {"predicted": predicted(freshNode=300.0)}

    assert said(add, "fresh-node=+1s", "fresh-node=200s") == (
        ["--fail-on fresh-node=200s: server new: fresh node 300 s, more than 200 s"],
        [],
    )


def test_a_revision_that_predicts_nothing_leaves_it_open():
    def older(document):
        del document["outputs"]["servers"]["chat"]["predicted"]

    line = "cannot tell: one of the revisions predicts nothing of server chat"
    assert said(starts(restart=70.0), "restart=+1s", before=older) == ([], [f"--fail-on restart=+1s: {line}"])


def test_a_key_that_moves_is_a_cold_compile_unless_its_candidate_had_it():
    keys = (key(), key("new", **{"engine.version": "2"}))
    assert said(flag, "cold-compile", keys=keys) == (
        ["--fail-on cold-compile: server chat: its cache key moves: engine.version"],
        [],
    )
    assert said(flag, "cold-compile", keys=keys, candidates={"chat": keys[1].exact}) == ([], [])
    assert said(flag, "cold-compile") == ([], [])
    assert said(keeps(""), "cold-compile") == (["--fail-on cold-compile: server chat: it keeps no cache"], [])


def test_downtime_is_that_of_one_interruption():
    def both(document):
        flag(document)
        spec(document, CLASS_TYPE)["userData"] = "x"

    assert said(both, "downtime=100s") == (
        ["--fail-on downtime=100s: server chat: nothing serves for 176 s when its node is replaced"],
        [],
    )
    assert said(flag, "downtime=77s") == ([], [])
    assert said(flag, "downtime=76s")[0] == [
        "--fail-on downtime=76s: server chat: nothing serves for 77 s at the rollout"
    ]


def test_a_downtime_that_nobody_knows_leaves_it_open():
    keys = (key(), key("new", **{"engine.version": "2"}))
    line = "cannot tell: nobody knows how long server chat takes for this start: restart"
    assert said(flag, "downtime=600s", keys=keys) == ([], [f"--fail-on downtime=600s: {line}"])
    assert said(flag, "downtime=600s", keys=keys, misses=MISSES) == ([], [])
    assert said(flag, "downtime=60s", keys=keys) == (
        ["--fail-on downtime=60s: server chat: nothing serves for at least 77 s at the rollout"],
        [],
    )


def test_nodes_that_stay_do_not_count():
    def drift(document):
        spec(document, CLASS_TYPE)["userData"] = "x"

    never = {"tree": lambda it: it["gpuPools"]["l40s"].update(updateWindow="never")}
    assert said(drift, "drift") == (["--fail-on drift: up to 4 nodes are replaced, in pools l40s"], [])
    assert said(drift, "drift=4") == ([], [])
    assert said(drift, "drift", **never) == ([], [])


@pytest.mark.parametrize(
    ("rule", "action", "word"), [("replacements", "replace", "replaced"), ("deletions", "delete", "deleted")]
)
def test_what_ends_is_counted_without_what_is_routine(rule, action, word):
    def end(document):
        document["resources"] += [resource("aws:ec2/vpc:Vpc", name, {}, action=action) for name in "abcd"]
        document["resources"].append(resource("kubernetes:core/v1:ConfigMap", "file", {}, action=action))

    assert said(end, rule) == ([f"--fail-on {rule}: 4 resources are {word}: a, b, c and 1 more"], [])
    assert said(end, f"{rule}=4") == ([], [])


def test_dollars_that_cannot_be_told_leave_it_open():
    prices = {"g6e.2xlarge": 2.5, "g6e.4xlarge": 2.5}
    assert said(
        lambda it: spec(it, DEPLOYMENT).update(replicas=2),
        "usd-per-hour=+1.0",
        tree=lambda it: it["gpuPools"]["l40s"].update(prices=prices),
    ) == (["--fail-on usd-per-hour=+1.0: USD +2.5 an hour that run all the time"], [])
    nat = resource("aws:ec2/natGateway:NatGateway", "n", {})
    assert said(lambda it: it["resources"].append(nat), "usd-per-hour=+1.0") == (
        [],
        ["--fail-on usd-per-hour=+1.0: cannot tell: no price is known of NAT gateways"],
    )
    assert said(lambda _: None, "usd-per-hour=+0") == ([], [])
