"""What `ops status` shows of a pod, and what of it is a failed check."""

import json

import pytest

from ops.failures import UnclearError, UsageError
from ops.live.look import requests, restored
from ops.live.state import Standing
from ops.live.status import HEAD, Node, Row, failed, seconds_of, spoken, table, unclear

HOUR = 3600.0


def row(word="ready", detail="", **more):
    return Row(server="gemma", pod="gemma-a", standing=Standing(word, detail), **more)


def node(**more):
    return Node(name="ip-10-0-0-1", instance_type="g7e.2xlarge", **more)


def lines(*rows, most=2 * HOUR):
    return list(failed(rows, most, "2h"))


@pytest.mark.parametrize(
    ("held", "waiting", "said"), [(1, 0, "1 request waits"), (2, 1, "3 requests wait"), (None, 4, "4 requests wait")]
)
def test_a_sleeper_that_requests_wait_for_fails_the_check(held, waiting, said):
    assert lines(row("asleep", held=held, waiting=waiting)) == [
        f"servers.gemma: pod gemma-a sleeps and {said}: .venv/bin/python -m ops wake --server gemma"
    ]


@pytest.mark.parametrize("word", ["ready", "waking", "draining", "starting"])
def test_requests_that_wait_for_one_that_is_awake_or_wakes_do_not(word):
    assert lines(row(word, held=5, waiting=5)) == []
    assert lines(row("asleep", held=0, waiting=0), row("asleep")) == []


def test_a_fall_back_fails_the_check_from_the_limit_on():
    old, young = node(capacity="on-demand", age=2 * HOUR + 301), node(capacity="on-demand", age=2 * HOUR)
    assert lines(row(node=young, fallback=True), row(node=old)) == []
    assert lines(row(node=old, fallback=True)) == [
        "servers.gemma: node ip-10-0-0-1 has been an on-demand fall-back for 2 h 5 min > 2h: .venv/bin/python -m ops"
        " idle status says how to ask for Spot again, and what that costs"
    ]


def test_what_was_not_seen_is_a_line_each():
    assert list(unclear([row(unseen=("its agent: no answer", "its node: 403")), row()])) == [
        "servers.gemma: pod gemma-a: cannot tell: its agent: no answer",
        "servers.gemma: pod gemma-a: cannot tell: its node: 403",
    ]


@pytest.mark.parametrize(
    ("capacity", "usd", "price"),
    [("on-demand", 3.36, "3.36"), ("spot", 3.36, "< 3.36"), ("spot", None, "unknown"), ("on-demand", None, "unknown")],
)
def test_a_price_is_the_list_price_or_a_bound_or_unknown(capacity, usd, price):
    assert node(capacity=capacity, usd=usd).price == price


def test_an_unknown_price_names_its_setting_and_fails_no_check():
    found = row(node=node(capacity="on-demand", unpriced="gpuPools.p.prices: nobody knows"))
    assert table([found]).splitlines()[-1] == "gemma/gemma-a: gpuPools.p.prices: nobody knows"
    assert list(unclear([found])) == lines(found) == []


def test_the_table_has_a_line_for_each_pod_and_the_reasons_below():
    rows = [
        row(
            "asleep",
            seconds=750,
            node=node(capacity="on-demand", usd=3.363, age=3 * HOUR),
            fallback=True,
            cache="hit (fingerprint)",
            running=0,
            waiting=0,
            held=2,
        ),
        row("pending", "no quota: x", unseen=("its requests: y",)),
        Row(server="other", pod=None, standing=Standing("not there", "Deployment n/other: not there: pulumi up")),
    ]
    shown = table(rows).splitlines()
    assert shown[0].split() == [word for name in HEAD for word in name.split()]
    cells = [cell.strip() for cell in shown[1].split("  ") if cell.strip()]
    assert cells == [
        "gemma",
        "gemma-a",
        "asleep 12 min",
        "ip-10-0-0-1",
        "g7e.2xlarge",
        "on-demand (fall-back 3 h)",
        "hit (fingerprint)",
        "0/0/2",
        "3.36",
    ]
    assert shown[4:] == [
        "",
        "gemma/gemma-a: pending: no quota: x",
        "gemma/gemma-a: cannot tell: its requests: y",
        "other: not there: Deployment n/other: not there: pulumi up",
    ]


def test_a_program_gets_null_for_what_is_not_known():
    found = json.loads(json.dumps(row("ready", node=node(capacity="spot", usd=3.0, age=61.7)).document()))
    assert found == {
        "server": "gemma",
        "pod": "gemma-a",
        "state": "ready",
        "detail": None,
        "stateSeconds": None,
        "node": "ip-10-0-0-1",
        "instanceType": "g7e.2xlarge",
        "capacity": "spot",
        "nodeAgeSeconds": 62,
        "onDemandFallback": False,
        "usdPerHour": None,
        "usdPerHourAtMost": 3.0,
        "cache": None,
        "running": None,
        "waiting": None,
        "held": None,
        "unseen": [],
    }
    assert row().document()["node"] is None


@pytest.mark.parametrize(("text", "seconds"), [("90s", 90), ("30m", 1800), ("2h", 7200), ("1d", 86400)])
def test_a_limit_is_a_number_and_a_unit(text, seconds):
    assert seconds_of("--max-fallback", text) == seconds


@pytest.mark.parametrize("text", ["2", "h", "0h", "-1h", "1.5h", "2 h", "never", "2h\n", "99999999h"])
def test_any_other_limit_is_a_usage_error(text):
    with pytest.raises(UsageError, match=r"^--max-fallback .*: expected a time such as 30m, 2h or 1d$"):
        seconds_of("--max-fallback", text)


@pytest.mark.parametrize(
    ("seconds", "said"),
    [
        (0.4, "0 s"),
        (59.9, "59 s"),
        (60, "1 min"),
        (3599, "59 min"),
        (3600, "1 h"),
        (11100, "3 h 5 min"),
        (187200, "2 d 4 h"),
    ],
)
def test_times_are_spoken(seconds, said):
    assert spoken(seconds) == said


def ended(message):
    status = {"name": "cache", "state": {"terminated": {"exitCode": 0, "message": message}}}
    return {"status": {"initContainerStatuses": [status]}}


@pytest.mark.parametrize(
    ("message", "said"),
    [
        (
            'cache-restore: outcome=hit restored=fingerprint bytes=228589568 files=1204 seconds=0.412 reason=""',
            "hit (fingerprint, 218.0 MiB in 0.4 s)",
        ),
        (
            'cache-restore: outcome=miss restored=none bytes=0 files=0 seconds=0.100 reason="no key"',
            "miss (none)",
        ),
        ("something else", None),
        ("", None),
    ],
)
def test_the_outcome_of_the_cache_is_the_last_word_of_its_container(message, said):
    assert restored(ended(message)) == said
    assert restored({"status": {}}) is None


def test_requests_are_added_over_all_engine_processes():
    text = (
        'vllm:num_requests_running{engine="0"} 2.0\nvllm:num_requests_running{engine="1"} 1.0\n'
        'vllm:num_requests_waiting{engine="0"} 4.0\nvllm:num_requests_waiting_by_reason{engine="0"} 9.0\n'
    )
    assert requests(text) == {"running": 3, "waiting": 4}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "/metrics: no vllm:num_requests_running and _waiting"),
        ("vllm:num_requests_running x\n", "/metrics: vllm:num_requests_running is no number"),
        (
            "vllm:num_requests_running NaN\nvllm:num_requests_waiting 0\n",
            "/metrics: vllm:num_requests_running is no number",
        ),
    ],
)
def test_gauges_that_are_none_are_a_doubt(text, said):
    with pytest.raises(UnclearError) as unclear:
        requests(text)
    assert str(unclear.value) == said


def test_a_server_without_pods_is_told_without_one():
    lost = Row(server="gemma", pod=None, standing=Standing("no pod"), unseen=("why it has none: 403",))
    assert list(unclear([lost])) == ["servers.gemma: cannot tell: why it has none: 403"]
