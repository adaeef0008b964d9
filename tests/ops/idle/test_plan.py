"""`ops idle plan`: what each policy costs, and its settings."""

import json
from dataclasses import replace

import pytest
import yaml

from ops.idle.plan.change import Change, bounds, text, tried
from ops.idle.plan.intervals import given
from ops.idle.plan.penalty import Penalty
from ops.idle.plan.plan import planned
from ops.stack.stack_file import read
from settings import Settings
from tests.ops.idle.conftest import BURSTS, POOL


def document(found):
    code, out, _ = found
    assert code == 0
    return json.loads(out)


def rows(found):
    return {row["policy"]: row for row in document(found)["policies"]}


def test_every_policy_is_priced_and_the_cheapest_is_best(plan):
    found = document(plan("--intervals", BURSTS, "--penalty", "0.01", "--json"))
    usd = {row["policy"]: row["usdPerDay"] for row in found["policies"]}
    assert list(usd) == ["always on", "sleep", "warm node", "scale to zero", "node kept"]
    assert found["best"] == min(usd, key=usd.get)
    assert usd["always on"] == pytest.approx(24 * 3.6)
    assert usd["node kept"] <= usd["scale to zero"]
    for row in found["policies"]:
        parts = (row["nodesUsdPerDay"], row["startsUsdPerDay"], row["penaltyUsdPerDay"])
        assert sum(parts) == pytest.approx(row["usdPerDay"])
        assert sum(it["share"] for it in row["returns"]) == pytest.approx(1)


@pytest.mark.parametrize(
    ("penalty", "best"),
    [((), "scale to zero"), (("--penalty", "0"), "scale to zero"), (("--penalty", "1"), "always on")],
    ids=["not told", "nothing", "a USD a second"],
)
def test_what_waiting_costs_decides(plan, penalty, best):
    found = document(plan("--intervals", "exponential:mean=8h", *penalty, "--json"))
    assert found["best"] == best


def test_without_intervals_there_are_break_evens_alone(plan):
    code, out, _ = plan("--penalty", "0.01")
    assert code == 0
    assert "no --intervals: without how long the server is idle at a time nobody can say what a policy costs" in out
    assert out.splitlines()[-3].split("  ")[0] == "35.3 min"
    assert "best:" not in out


def test_people_see_the_sum_and_settings_that_the_program_takes(plan, folder):
    code, out, _ = plan("--intervals", BURSTS, "--penalty", "10s:0.01,60s:0.3")
    table, _, advice = out.partition("best: ")
    assert code == 0
    assert advice.splitlines()[0] == (
        "scale to zero (consolidateAfter 3m, the shortest): `pulumi up` with the settings below; nothing takes the pods"
        " away yet: by hand kubectl -n inference scale deployment gemma --replicas=0, back with kubectl -n inference"
        " scale deployment gemma --replicas=1; or by the clock `idle: {schedule: {stop: <cron>, start: <cron>,"
        " timeZone: <zone>}}` below servers.gemma (docs/idle.md)"
    )
    assert advice.splitlines()[1] == (
        "  (168 s kept + 13.4% x 77.1 s (restart) + 86.6% x 176.0 s (fresh node) = 331 s) x 3.6 USD an hour"
        " + 0.3 USD of waiting = 0.631 USD a return x 16.6 a day = 10.45 USD a day"
    )
    pasted = yaml.safe_load(advice.partition("# below vllm-eks:settings")[2])
    assert pasted == {"gpuPools": {POOL: {"consolidateAfter": "3m"}}}
    assert isinstance(tried(read("dev"), pasted), Settings)
    assert "busy time not told (--busy), so counted as 0: 16.6 returns a day" in table


@pytest.mark.parametrize("preset", ["frontier", "short-idle", "nightly-idle"])
def test_all_settings_to_paste_pass_the_programs_own_check(plan, edit, preset):
    def change(settings):
        server = settings["servers"]["gemma"]
        server["preset"] = preset
        server["engine"]["gpuMemoryUtilization"] = 0.85
        if preset == "nightly-idle":
            stop, start = "0 20 * * mon-fri", "30 7 * * mon-fri"
            server["idle"] = {"schedule": {"stop": stop, "start": start, "timeZone": "Asia/Seoul"}}

    edit(change)
    found = rows(plan("--intervals", BURSTS, "--penalty", "0.01", "--json"))
    assert len(found) == 5
    for policy, row in found.items():
        assert row["refused"] == [], policy
        made = tried(read("dev"), row["settings"])
        assert isinstance(made, Settings)
        server, pool = made.servers["gemma"], made.gpu_pools[POOL]
        assert ("sleep-mode" in server.chosen) == (
            policy == "sleep" or (preset == "short-idle" and policy != "always on")
        )
        assert pool.warm_nodes == (policy == "warm node")
        # the clock would end what is to stay
        assert bool(server.idle) == (preset == "nightly-idle" and policy not in {"always on", "sleep"})
    assert bounds(read("dev"), POOL)[0] == 3 + (preset == "short-idle")


def test_what_is_to_be_taken_away_is_a_comment(plan, edit):
    edit(lambda settings: settings["servers"]["gemma"].update(preset="short-idle"))
    code, out, _ = plan("--intervals", "exponential:mean=2m", "--penalty", "1")
    assert code == 0
    assert out.splitlines()[-1] == "# take away: servers.gemma.preset"
    change = yaml.safe_load(out.partition("# below vllm-eks:settings")[2])
    assert "sleep-mode" not in change["servers"]["gemma"]["techniques"]


def test_a_policy_that_the_stack_file_cannot_have_is_named_and_never_best(plan, edit):
    edit(lambda settings: settings["gpuPools"][POOL].update(maxGpus=1))
    found = rows(plan("--intervals", BURSTS, "--penalty", "1", "--json"))
    assert found["warm node"]["refused"] == [f"gpuPools.{POOL}.maxGpus: gemma 1 + warmNodes 1 x 1 = 2 GPUs > 1"]
    assert "usdPerDay" not in found["warm node"]
    assert "warm node: not with this stack file: gpuPools" in plan("--intervals", BURSTS)[1]


@pytest.mark.parametrize(
    ("change", "more", "code", "said"),
    [
        (
            {"capacity": {"reserved": {"ids": ["cr-0123456789abcdef0"]}}},
            (),
            1,
            f"gpuPools.{POOL}.capacity: reserved: its nodes cost the same whether they are used or not, so nothing is"
            " saved by being idle in another way",
        ),
        (
            {"capacity": "on-demand"},
            ("--spot-price", "1"),
            2,
            f"--spot-price: gpuPools.{POOL}.capacity is on-demand; its nodes are never Spot",
        ),
        ({}, ("--spot-price", "0"), 2, "--spot-price 0: expected more than 0 and at most 1000 USD an hour"),
        ({}, ("--spot-price", "nan"), 2, "--spot-price nan: expected more than 0 and at most 1000 USD an hour"),
        (
            {},
            ("--instance-type", "p5.48xlarge"),
            2,
            f"--instance-type p5.48xlarge: not of pool {POOL}; expected one of g7e.2xlarge, g7e.4xlarge",
        ),
        ({}, ("--server", "x"), 2, "--server x: not in Pulumi.dev.yaml; expected one of gemma"),
    ],
)
def test_what_cannot_be_planned_is_one_line(plan, edit, change, more, code, said):
    edit(lambda settings: settings["gpuPools"][POOL].update(change))
    found, out, err = plan(*more)
    assert (found, out, err.splitlines()[-1]) == (code, "", said)


def test_a_servers_pods_take_nodes_together(plan, edit):
    edit(lambda settings: settings["gpuPools"][POOL].update(maxGpus=8))
    edit(lambda settings: settings["servers"]["gemma"].update(replicas=3))
    found = document(plan("--intervals", BURSTS, "--json"))
    assert (found["nodes"], found["usdPerHour"]) == (3, pytest.approx(10.8))
    (warm,) = [row for row in found["policies"] if row["policy"] == "warm node"]
    assert warm["settings"]["gpuPools"][POOL]["warmNodes"] == 3


def test_nothing_to_change_is_said():
    nothing: Change = {}
    assert text(nothing) == "# as it is"


@pytest.mark.parametrize("penalty", ["1e7", "1e308", "1e999", "10s:1e7"])
def test_a_penalty_whose_sum_would_be_no_number_is_usage(plan, penalty):
    code, out, err = plan("--penalty", penalty, "--requests-per-return", "1000000", "--json")
    assert (code, out) == (2, "")
    assert err.startswith(f"--penalty {penalty}: ")
    assert err.endswith(" USD; expected at most 1000000\n")


def test_a_busy_time_without_intervals_is_usage(plan):
    assert plan("--busy", "1h") == (2, "", "--busy: of no use without --intervals\n")


def test_no_pod_is_shared_by_two_nodes(plan, edit):
    """Of a node's four GPUs a pod of three leaves one, and no other such pod fits."""
    types = {"instanceTypes": ["g7e.24xlarge"], "prices": {"g7e.24xlarge": 20}, "maxGpus": 64}
    edit(lambda settings: settings["gpuPools"][POOL].update(types))
    edit(lambda settings: settings["servers"]["gemma"]["engine"].update(tensorParallel=3))
    edit(lambda settings: settings["servers"]["gemma"].update(replicas=4))
    found = document(plan("--json"))
    assert (found["nodes"], found["usdPerHour"]) == (4, 80)


def test_sleep_without_the_host_memory_at_worst_is_said(plan):
    said = (
        "host memory 59.9 GiB weights pinned at worst (1.92 x weights) + 6.0 GiB base = 65.9 GiB > 56.1 GiB allocatable"
        " on g7e.2xlarge"
    )
    found = rows(plan("--intervals", BURSTS, "--json"))
    assert {policy: row["doubts"] for policy, row in found.items()} == {
        policy: [said] if policy == "sleep" else [] for policy in found
    }
    assert f"sleep: perhaps not: {said}" in plan("--intervals", BURSTS)[1].splitlines()


def test_what_runs_short_of_memory_is_never_best(plan, folder):
    """Where nothing else can be had either."""
    asked = {"intervals": given(BURSTS, None), "penalty": Penalty(), "records": ()}
    found = planned(read("dev"), "gemma", instance_type=None, spot_price=1.2, **asked)
    (sleeper,) = [row for row in found.rows if row.policy == "sleep"]
    assert replace(found, rows=[sleeper]).best is None
    assert replace(found, rows=[replace(sleeper, doubts=())]).best.policy == "sleep"


def test_a_server_that_sleeps_already_may_be_scaled_to_zero(plan, edit):
    """What it runs short of asleep is not of that policy."""
    edit(lambda settings: settings["servers"]["gemma"].update(preset="short-idle"))
    found = document(plan("--intervals", "exponential:mean=8h", "--json"))
    assert found["best"] == "scale to zero"
    assert {row["policy"] for row in found["policies"] if row["doubts"]} == {"sleep"}


CLOCK = {"schedule": {"stop": "0 20 * * mon-fri", "start": "30 7 * * mon-fri", "timeZone": "Asia/Seoul"}}
UP = "`pulumi up` with the settings below"


@pytest.mark.parametrize(
    ("policy", "server", "said"),
    [
        ("always on", {}, "no setting changes"),
        ("always on", {"idle": CLOCK}, UP),
        ("sleep", {}, f"{UP}; it then sleeps by itself, after servers.gemma.sleep.idleSeconds 900"),
        (
            "sleep",
            {"sleep": {"wake": "external"}},
            f"{UP}; it sleeps when its pods are annotated: kubectl -n inference annotate pod -l"
            " app.kubernetes.io/instance=gemma vllm-eks/wanted=asleep --overwrite",
        ),
        *(
            (policy, {"idle": CLOCK}, f"{UP}; the clock takes the pods away (servers.gemma.idle.schedule)")
            for policy in ("node kept", "scale to zero", "warm node")
        ),
        (
            "node kept",
            {},
            f"{UP}; nothing takes the pods away yet: by hand kubectl -n inference scale deployment gemma --replicas=0,"
            " back with kubectl -n inference scale deployment gemma --replicas=1; or by the clock `idle: {schedule:"
            " {stop: <cron>, start: <cron>, timeZone: <zone>}}` below servers.gemma (docs/idle.md)",
        ),
    ],
)
def test_every_policy_says_what_makes_it_so(plan, edit, policy, server, said):
    sleeps = {"techniques": ["front-proxy", "sleep-mode"]} if "sleep" in server else {}
    edit(lambda settings: settings["servers"]["gemma"].update(**server, **sleeps))
    assert rows(plan("--intervals", "exponential:mean=2h", "--json"))[policy]["toDo"] == said


def test_intervals_come_from_standard_input(ops, edit):
    edit(lambda settings: settings["gpuPools"][POOL].update(prices={"g7e.2xlarge": 3.6}))
    code, out, _ = ops("idle", "plan", "--server", "gemma", "--intervals", "-", "--json", given="20m\n3h\n")
    assert (code, json.loads(out)["intervals"]["meanSeconds"]) == (0, 6000)
