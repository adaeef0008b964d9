"""Predictions for servers that are not the article's."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine_client import PATIENCE
from infra.instances import types_with
from serving.budget.baseline import PINS, baseline, priming_seconds, probe_lag, wake_seconds
from serving.budget.host_memory import ON_GPU, PINNED
from serving.budget.predict import in_force, predicted, predictions, warnings
from serving.budget.timeline import EVIDENCE, PHASES, STARTS, Seconds, by_evidence, total, weaker
from serving.pod import Situation
from serving.server.fit import warnings as all_warnings
from serving.techniques import TECHNIQUES
from serving.techniques.technique import Effect, Technique, at_most, scaled
from tests.serving.budget.article import article
from tests.serving.situations import situation

L40S = {"product": "l40s", "instanceTypes": ["g6e.4xlarge", "g6e.2xlarge"]}
EVERY = tuple(TECHNIQUES)


def one(name: str, **effect: Any) -> dict[str, Technique]:
    spec = {"phase": "compile", "starts": ("restart",), "evidence": "measured", "source": "a test", **effect}
    return {name: Technique(name=name, effects=(Effect(**spec),))}


def restart(about: Situation, table: dict[str, Technique], *names: str) -> Seconds:
    return predicted(about, names or tuple(table), "restart", about.pool.types[0], table)["compile"]


def test_a_slower_network_of_the_pool_shows_in_the_weights_and_nowhere_else() -> None:
    starts = predictions(situation(nodes=L40S), ("streaming-loader",))
    weights = {name: it["restart"]["weights"].value for name, it in starts.items()}
    assert weights["g6e.4xlarge"] < weights["g6e.2xlarge"]
    rest = [{p: s for p, s in it["restart"].items() if p != "weights"} for it in starts.values()]
    assert rest[0] == rest[1]
    # 30.5 GiB at 0.9 x 5 Gbit/s
    assert weights["g6e.2xlarge"] == pytest.approx(30.5 * 1024**3 * 8 / 4.5e9)


def test_predictions_stand_in_the_pools_order_of_types_with_all_starts() -> None:
    starts = predictions(situation(nodes=L40S), ())
    assert list(starts) == L40S["instanceTypes"]
    assert all(list(it) == list(STARTS) for it in starts.values())


def test_only_the_articles_server_is_measured() -> None:
    measured = {
        name: {
            phase
            for phase, it in predicted(about, (), "fresh node", about.pool.types[0]).items()
            if it.evidence == "measured"
        }
        for name, about in {
            "article": article(),
            "newer engine": situation(engine={"version": "0.33.0"}),
            "own image": situation(engine={"version": "0.26.0", "image": "registry.example.com/vllm:v0.26.0-1"}),
            "other model": situation(engine={"version": "0.26.0"}, model={"sizeGib": 16}),
            "other type": situation(nodes={"instanceTypes": ["g7e.4xlarge"]}, engine={"version": "0.26.0"}),
        }.items()
    }
    always = {"scheduling", "container start", "readiness"}
    assert measured == {
        "article": {*always, "image pull", "weights", "compile", "API start"},
        "newer engine": always,
        "own image": always,
        "other model": {*always, "image pull"},
        "other type": always,
    }


def test_the_newer_engine_starts_its_api_and_imports_faster_and_nothing_else() -> None:
    older, newer = (situation(engine={"version": version}) for version in ("0.26.0", "0.33.0"))
    for start, imports in (("fresh node", 2.7), ("restart", 2.7)):
        before, after = (predicted(it, (), start, it.pool.types[0]) for it in (older, newer))
        saved = {p: round(before[p].value - after[p].value, 1) for p in before if before[p].value != after[p].value}
        assert saved == {"engine imports": imports, "API start": 39.0}


def test_a_phase_made_of_the_one_before_is_known_no_better_than_that() -> None:
    about = situation()  # its compile is estimated
    assert restart(about, one("t", seconds=scaled(0.5), evidence="published")).evidence == "estimated"
    assert restart(about, one("t", seconds=at_most(3.0), evidence="published")).evidence == "published"
    assert restart(article(), one("t", seconds=scaled(0.5), evidence="published")).evidence == "published"


def test_a_technique_that_changes_nothing_leaves_evidence_and_source() -> None:
    about = article()
    assert restart(about, one("t", seconds=at_most(60.0), evidence="estimated")) == restart(about, {})


def test_an_effect_beside_another_technique_needs_it() -> None:
    table = one("t", seconds=at_most(1.0), beside=("other",))
    assert restart(article(), table, "t").value == 51.0
    assert restart(article(), table, "t", "other").value == 1.0


def test_bytecode_reaches_a_new_node_only_inside_the_archives() -> None:
    about = article()
    own, restored = ("node-cache", "bytecode-cache"), ("node-cache", "bytecode-cache", "cache-restore")
    imports = {
        names: {start: predicted(about, names, start, about.pool.types[0])["imports"].value for start in STARTS[:3]}
        for names in (own, restored)
    }
    assert imports[own]["fresh node"] == 12.7
    assert imports[own]["restart"] == imports[restored]["restart"] == imports[restored]["fresh node"] < 6


def test_the_techniques_in_force_are_the_servers_and_its_pools() -> None:
    pool = {"techniques": ["parallel-pull"], "warmNodes": 1, "maxGpus": 4}
    assert in_force(situation(nodes=pool), ("node-cache",)) == ("node-cache", "parallel-pull", "warm-nodes")
    assert in_force(situation(nodes={"techniques": []}), ()) == ()


def test_a_wake_copies_the_weights_of_each_gpu_and_priming_sleeps_once_more() -> None:
    about = article()
    assert wake_seconds(about) == pytest.approx(0.97)
    assert priming_seconds(about) == pytest.approx(12.8 + 0.97)
    two = situation(engine={"tensorParallel": 2}, model={"sizeGib": 61})
    assert wake_seconds(two) == pytest.approx(0.97)


def test_the_first_sleep_goes_by_what_it_pins_and_never_outlasts_the_agents_patience() -> None:
    """engine_client.py: 600 s, reckoned with the slower of the two hosts that were measured."""
    small, large = (situation(model={"sizeGib": size}) for size in (15.25, 400))
    first = {about.model.size_gib: priming_seconds(about) - wake_seconds(about) for about in (small, large)}
    assert first == {15.25: pytest.approx(6.4), 400: pytest.approx(12.8 * 400 / 30.5)}
    assert first[400] == pytest.approx(400 * ON_GPU * PINNED / PINS)
    assert first[400] < PATIENCE["sleep"]


@pytest.mark.parametrize("memory", [40, 30, 14])
def test_a_load_with_other_readers_than_the_articles_is_estimated(memory: int) -> None:
    """The article ran 64 readers; a server that is short of memory gets 16, or 8 and refills."""

    def weights(memory: int, version: str) -> Seconds:
        about = situation(engine={"version": version}, resources={"memoryGib": memory})
        return predicted(about, ("streaming-loader",), "restart", about.pool.types[0])["weights"]

    assert weights(50, "0.26.0").evidence == "measured"
    assert weights(memory, "0.26.0").evidence == "estimated"
    assert weights(50, "0.33.0").evidence == "estimated"


EIGHT = {"engine": {"tensorParallel": 8}, "model": {"sizeGib": 400}, "resources": {"memoryGib": 600}}
P5 = {"product": "h100", "instanceTypes": ["p5.48xlarge"], "maxGpus": 8}


def test_every_rank_streams_the_whole_checkpoint() -> None:
    """3200 GiB: with 8 readers a rank they take in 8 x 2.23 GB/s, and no network is faster than its figure."""
    about = situation(nodes=P5, **EIGHT)
    seconds = predicted(about, ("streaming-loader",), "restart", about.pool.types[0])["weights"]
    assert (seconds.value, seconds.evidence) == (pytest.approx(8 * 400 * 1024**3 / (8 * 2.23e9)), "estimated")
    slow = situation(
        nodes={"product": "l4", "instanceTypes": ["g6.12xlarge"], "maxGpus": 4},
        engine={"tensorParallel": 4},
        model={"sizeGib": 40},
    )
    kind = slow.pool.types[0]
    wire = 4 * 40 * 1024**3 * 8 / (0.9 * kind.network * 10**6)
    assert predicted(slow, ("streaming-loader",), "restart", kind)["weights"].value >= wire


def test_a_start_beyond_what_an_engine_may_take_is_a_warning_with_the_sum() -> None:
    """All of it is scaled from a checkpoint of 30.5 GiB on another type, so it is no refusal."""
    about = situation(nodes=P5, **EIGHT)
    said = list(warnings(about, ()))
    assert said == [
        (
            ("techniques",),
            "imports 12.7 s + model inspection 13.1 s + engine imports 10.5 s + weights 1673.4 s + compile 51.0 s"
            " + kernels 20.5 s + graphs 22.5 s + API start 7.0 s = 1810.7 s on p5.48xlarge, estimated, > 1800 s that an"
            " engine may take from the start of its container to serving: it may be ended before",
        )
    ]
    assert said[0] in list(all_warnings(about, (), {}))
    assert not list(warnings(about, ("streaming-loader",)))
    assert not list(warnings(article(), ()))


def test_the_probe_finds_a_ready_server_in_a_share_of_its_period() -> None:
    assert [probe_lag(period) for period in (10, 1)] == [7.0, 0.7]


def test_the_weaker_evidence_wins() -> None:
    assert [weaker("measured", it) for it in EVIDENCE] == ["measured", "published", "estimated"]
    assert weaker("estimated", "published") == "estimated"


TYPES = st.sampled_from(types_with("rtx-pro-server-6000"))
NAMES = st.sets(st.sampled_from(EVERY)).map(
    lambda names: tuple({*names, *(n for it in names for n in TECHNIQUES[it].needs)})
)
SIZES = st.floats(min_value=0.1, max_value=2000)


def server(kind: str, size: float) -> Situation:
    return situation(
        nodes={"instanceTypes": [kind], "maxGpus": 8}, model={"sizeGib": size}, resources={"memoryGib": 48}
    )


@given(kind=TYPES, names=NAMES, size=SIZES, start=st.sampled_from(STARTS))
def test_no_phase_is_negative_and_the_parts_sum_up(kind: str, names: tuple[str, ...], size: float, start: Any) -> None:
    about = server(kind, size)
    phases = predicted(about, names, start, about.pool.types[0])
    assert all(it.value > 0 and it.source for it in phases.values())
    assert list(phases) == [phase for phase in PHASES if phase in phases]
    assert sum(by_evidence(phases).values()) == pytest.approx(total(phases))


@given(kind=TYPES, names=NAMES, sizes=st.tuples(SIZES, SIZES).map(sorted), start=st.sampled_from(STARTS))
def test_more_weights_never_start_faster(kind: str, names: tuple[str, ...], sizes: list[float], start: Any) -> None:
    totals = []
    for size in sizes:
        about = server(kind, size)
        totals.append(total(predicted(about, names, start, about.pool.types[0])))
    assert totals[0] <= totals[1] + 1e-9


@given(names=NAMES, start=st.sampled_from(STARTS))
def test_a_start_with_more_already_there_is_never_slower(names: tuple[str, ...], start: Any) -> None:
    about = article()
    kind = about.pool.types[0]
    fresh, warm, again = (total(predicted(about, names, it, kind)) for it in STARTS[:3])
    assert fresh >= warm >= again


def test_the_baseline_of_a_wake_is_empty() -> None:
    about = article()
    assert baseline(about, "wake", about.pool.types[0]) == {}
