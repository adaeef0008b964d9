"""Host memory of servers that sleep: what was measured to work is allowed, what is less is refused with its sum."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from infra.instances import catalogue
from serving.budget.host_memory import (
    ASLEEP_ON_GPU,
    ENGINE_MEMORY,
    ON_GPU,
    PINNED,
    RANK_MEMORY,
    Sleeper,
    engine_memory,
    host_memory,
    refusals,
    shared_refusals,
    shared_warnings,
    warnings,
)
from serving.pod import SHARED_MEMORY, Situation
from tests.serving.situations import situation

SLEEPS = ("sleep-mode",)
SMALL, LARGE = catalogue()["g7e.2xlarge"], catalogue()["g7e.4xlarge"]


def one(size: float, memory: int, *types: str) -> Situation:
    nodes = {"instanceTypes": list(types or ("g7e.2xlarge",))}
    return situation(nodes=nodes, model={"sizeGib": size}, resources={"memoryGib": memory})


def test_what_an_h200_host_was_seen_to_take_is_what_is_reckoned() -> None:
    """gpu.md 9: 21.6 GiB for 15.27 GiB of weights."""
    assert host_memory(15.27 / ON_GPU, 0, sleeps=True).pinned == pytest.approx(21.6, rel=0.02)


def test_the_streamers_buffer_and_the_pinned_copies_do_not_add_up() -> None:
    assert host_memory(10 / ON_GPU, 20, sleeps=True).peak == ENGINE_MEMORY + 20
    assert host_memory(20 / ON_GPU, 20, sleeps=True).peak == pytest.approx(ENGINE_MEMORY + 20 * PINNED)
    assert host_memory(20, 5, sleeps=False).peak == ENGINE_MEMORY + 5


def test_what_the_article_slept_is_allowed_with_a_warning() -> None:
    """Article 000: 31 GiB on a g7e.2xlarge."""
    about = one(30.5, 52)
    assert not list(refusals(about, SLEEPS))
    assert list(warnings(about, SLEEPS)) == [
        (
            ("sleep",),
            "host memory 59.9 GiB weights pinned at worst (1.92 x weights) + 6.0 GiB base = 65.9 GiB > 56.1 GiB"
            " allocatable on g7e.2xlarge",
        )
    ]


def test_more_than_the_type_has_is_refused() -> None:
    about = one(40.5, 52, "g7e.4xlarge", "g7e.2xlarge")
    assert list(refusals(about, SLEEPS)) == [
        (
            ("sleep",),
            "host memory 58.0 GiB weights pinned + 6.0 GiB base = 64.0 GiB > 56.1 GiB allocatable on g7e.2xlarge",
        )
    ]
    assert not list(warnings(about, SLEEPS))


def test_more_than_the_container_may_take_is_refused_where_the_type_has_it() -> None:
    assert list(refusals(one(30.5, 48), SLEEPS)) == [
        (("sleep",), "host memory 43.7 GiB weights pinned + 6.0 GiB base = 49.7 GiB > 48 GiB of resources.memoryGib")
    ]
    about = one(30.5, 60, "g7e.4xlarge")
    assert not list(refusals(about, SLEEPS))
    assert list(warnings(about, SLEEPS)) == [
        (
            ("sleep",),
            "host memory 59.9 GiB weights pinned at worst (1.92 x weights) + 6.0 GiB base = 65.9 GiB > 60 GiB of"
            " resources.memoryGib",
        )
    ]
    assert not list(warnings(one(30.5, 66, "g7e.4xlarge"), SLEEPS))


def test_a_server_that_never_sleeps_pins_nothing() -> None:
    about = one(80, 8)
    assert not list(refusals(about, ("streaming-loader",)))
    assert not list(warnings(about, ("streaming-loader",)))


def test_an_engine_of_several_ranks_has_their_processes_and_what_they_share_and_one_of_one_has_neither() -> None:
    assert engine_memory(1) == ENGINE_MEMORY
    assert engine_memory(2) == ENGINE_MEMORY + RANK_MEMORY + SHARED_MEMORY
    two = situation(
        nodes={"instanceTypes": ["g7e.12xlarge"], "maxGpus": 2},
        engine={"tensorParallel": 2},
        model={"sizeGib": 100},
        resources={"memoryGib": 150},
    )
    assert list(refusals(two, SLEEPS)) == [
        (
            ("sleep",),
            "host memory 143.3 GiB weights pinned + 10.0 GiB base = 153.3 GiB > 150 GiB of resources.memoryGib",
        )
    ]


ARTICLES_PAIR = {"a": Sleeper(31.22 / ON_GPU, 81.6), "b": Sleeper(14.4 / ON_GPU, 81.6)}
"""31B and 26B: 49 GB of weights (article 000)."""


def test_the_pair_that_cost_the_article_a_node_is_refused() -> None:
    assert list(shared_refusals(ARTICLES_PAIR, SMALL)) == [
        "host memory 63.9 GiB weights of 2 servers pinned + 2 x 6.25 GiB base + 2.0 GiB node agents = 78.4 GiB"
        " > 56.1 GiB allocatable on g7e.2xlarge"
    ]
    assert not list(shared_warnings(ARTICLES_PAIR, SMALL))


def test_the_same_pair_may_share_where_the_article_says_so() -> None:
    """Article 000: only with 128 GiB of host memory and more."""
    assert not list(shared_refusals(ARTICLES_PAIR, LARGE))
    assert not list(shared_warnings(ARTICLES_PAIR, LARGE))


def test_a_sharing_that_the_worst_published_case_breaks_is_a_warning() -> None:
    three = {**ARTICLES_PAIR, "c": Sleeper(5.0 / ON_GPU, 81.6)}
    assert not list(shared_refusals(three, LARGE))
    assert list(shared_warnings(three, LARGE)) == [
        "host memory 97.2 GiB weights of 3 servers pinned at worst (1.92 x weights) + 3 x 6.25 GiB base + 2.0 GiB node"
        " agents = 117.9 GiB > 112.6 GiB allocatable on g7e.4xlarge"
    ]


def test_the_awake_one_must_have_room_beside_what_sleepers_keep() -> None:
    pair = {"a": Sleeper(10, 0.85 * 96), "b": Sleeper(10, 0.98 * 96)}
    assert list(shared_refusals(pair, LARGE)) == [
        "GPU memory 94.1 GiB of b awake + 1 x 2.04 GiB asleep = 96.1 GiB > 96.0 GiB on g7e.4xlarge"
    ]
    assert not list(shared_refusals({"b": pair["b"]}, LARGE))


@given(sizes=st.tuples(*[st.floats(min_value=0.1, max_value=2000)] * 2).map(sorted), streamer=st.floats(0, 500))
def test_more_weights_never_take_less(sizes: list[float], streamer: float) -> None:
    small, large = (host_memory(size, streamer, sleeps=True) for size in sizes)
    assert ENGINE_MEMORY <= small.peak <= large.peak


@given(sizes=st.lists(st.floats(min_value=0.1, max_value=100), min_size=1, max_size=5))
def test_whoever_may_share_may_share_without_one_of_them(sizes: list[float]) -> None:
    sleepers = {str(i): Sleeper(size, 90 - ASLEEP_ON_GPU) for i, size in enumerate(sizes)}
    fewer = dict(list(sleepers.items())[1:])
    if not list(shared_refusals(sleepers, LARGE)):
        assert not list(shared_refusals(fewer, LARGE))
