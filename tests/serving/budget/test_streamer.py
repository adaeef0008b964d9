"""The streamer's readers and buffer: within host memory, and why they are what they are."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from serving.budget.host_memory import ENGINE_MEMORY, RANK_MEMORY, engine_memory
from serving.budget.streamer import RATES, READER_MEMORY, Buffer, buffer, planned, reason, reasons
from serving.model import GIB
from serving.pod import SHARED_MEMORY, Situation
from serving.techniques import refusals
from tests.serving.situations import pod, situation

L40S = {"product": "l40s", "instanceTypes": ["g6e.8xlarge", "g6e.2xlarge"]}


@pytest.mark.parametrize(
    ("checkpoint", "memory", "network", "expected"),
    [
        (30.5, 48, 50_000, Buffer(64, round(30.5 * GIB))),  # g7e.2xlarge: all readers, whole checkpoint
        (30.5, 40, 50_000, Buffer(16, round(30.5 * GIB))),  # readers go before the buffer does
        (30.5, 112, 20_000, Buffer(16, round(30.5 * GIB))),  # g6e.4xlarge: 16 readers fill 20 Gbit/s
        (30.5, 112, 5_000, Buffer(8, round(30.5 * GIB))),  # more readers than the network needs only cost memory
        (60.0, 48, 50_000, Buffer(8, 48 * GIB - round((ENGINE_MEMORY + 8 * READER_MEMORY) * GIB))),
        (30.5, 8, 50_000, None),
    ],
)
def test_the_buffer_holds_the_checkpoint_and_the_readers_fill_the_network(
    checkpoint: float, memory: int, network: int, expected: Buffer | None
) -> None:
    assert buffer(round(checkpoint * GIB), memory * GIB, network) == expected


def test_the_buffer_and_its_readers_fit_beside_the_engine() -> None:
    for memory in range(16, 128, 4):
        for network in (2_500, 20_000, 50_000, 400_000):
            plan = buffer(31 * GIB, memory * GIB, network)
            assert plan is not None
            assert plan.limit + (plan.readers * READER_MEMORY + ENGINE_MEMORY) * GIB <= memory * GIB + 1


def test_the_reason_is_the_sum_and_what_decided_it() -> None:
    assert reason(situation()) == (
        "64 readers x 0.17 GiB + buffer 31.1 GiB + engine 6.0 GiB = 48.0 GiB of 50 GiB (50 Gbit/s want 64)"
    )
    assert reason(situation(resources={"memoryGib": 40})) == (
        "16 readers x 0.17 GiB + buffer 31.1 GiB + engine 6.0 GiB = 39.8 GiB of 40 GiB (50 Gbit/s want 64; memory is"
        " short, and readers go first)"
    )
    assert reason(situation(model={"sizeGib": 60})) == (
        "8 readers x 0.17 GiB + buffer 42.6 GiB + engine 6.0 GiB = 50.0 GiB of 50 GiB (50 Gbit/s want 64; memory is"
        " short, and readers go first; the checkpoint has 61.2 GiB, so each refill is a wait)"
    )


def test_a_server_without_a_plan_has_the_refusal_for_a_reason() -> None:
    about = situation(resources={"memoryGib": 10})
    assert planned(about) is None
    assert reason(about) == (
        "host memory 6.0 GiB engine + 1.4 GiB for 8 readers + 4.7 GiB smallest buffer = 12.0 GiB > 10 GiB of"
        " resources.memoryGib"
    )
    assert list(refusals(["streaming-loader"], about)) == [f"streaming-loader: {reason(about)}"]


def test_each_type_has_a_reason_of_its_own_and_the_pods_get_the_slowest_ones() -> None:
    about = situation(nodes=L40S)
    assert reasons(about) == {
        "g6e.8xlarge": (
            "32 readers x 0.17 GiB + buffer 31.1 GiB + engine 6.0 GiB = 42.6 GiB of 50 GiB (25 Gbit/s want 32)"
        ),
        "g6e.2xlarge": (
            "8 readers x 0.17 GiB + buffer 31.1 GiB + engine 6.0 GiB = 38.5 GiB of 50 GiB (5 Gbit/s want 8)"
        ),
    }
    assert reason(about) == reasons(about)["g6e.2xlarge"]


P5 = {"product": "h100", "instanceTypes": ["p5.48xlarge"], "maxGpus": 8}


def of_eight(memory: int) -> Situation:
    return situation(nodes=P5, engine={"tensorParallel": 8}, model={"sizeGib": 400}, resources={"memoryGib": memory})


def test_each_rank_gets_its_share_of_memory_and_readers() -> None:
    """memory_limit and concurrency are given to each rank's own streamer."""
    about = of_eight(600)
    left = 600 - ENGINE_MEMORY - 7 * RANK_MEMORY - SHARED_MEMORY - 8 * 8 * READER_MEMORY
    assert planned(about) == Buffer(8, round(left * GIB) // 8, ranks=8)
    made = pod(["streaming-loader"], about)
    assert made.flags["model-loader-extra-config"] == {"concurrency": 8, "memory_limit": round(left * GIB) // 8}
    assert made.env["RUNAI_STREAMER_S3_TARGET_GBPS"] == "400"
    assert reason(about) == (
        "8 ranks x (8 readers x 0.17 GiB + buffer 70.9 GiB) + engine 6.0 GiB + 7 further ranks x 2.0 GiB + /dev/shm 2"
        " GiB = 600.0 GiB of 600 GiB (each of 8 ranks reads the whole checkpoint: 3200 GiB; 3200 Gbit/s want 8 a rank;"
        " the checkpoint has 408.0 GiB, so each refill is a wait)"
    )


def test_ranks_whose_smallest_buffers_do_not_fit_are_refused_with_the_sum() -> None:
    about = of_eight(70)
    assert list(refusals(["streaming-loader"], about)) == [
        "streaming-loader: host memory 6.0 GiB engine + 14.0 GiB for 7 further ranks + 2 GiB /dev/shm + 8 ranks x"
        " (1.4 GiB for 8 readers + 4.7 GiB smallest buffer) = 70.1 GiB > 70 GiB of resources.memoryGib"
    ]
    assert not list(refusals(["streaming-loader"], of_eight(71)))


@given(
    size=st.floats(min_value=0.1, max_value=1000),
    memory=st.integers(min_value=8, max_value=2048),
    network=st.integers(min_value=1_000, max_value=3_200_000),
    ranks=st.integers(min_value=1, max_value=16),
)
def test_a_plan_fits_and_has_a_number_of_readers_that_was_run(
    size: float, memory: int, network: int, ranks: int
) -> None:
    plan = buffer(round(size * GIB), memory * GIB, network, ranks)
    if plan is not None:
        assert plan.readers in RATES
        assert 0 < plan.limit <= round(size * GIB)
        assert plan.gib + engine_memory(ranks) <= memory + 1e-6
        assert plan.ranks == ranks


@given(
    size=st.floats(min_value=0.1, max_value=1000),
    memories=st.tuples(*[st.integers(min_value=8, max_value=2048)] * 2).map(sorted),
    network=st.integers(min_value=1_000, max_value=3_200_000),
)
def test_more_memory_never_makes_a_plan_smaller(size: float, memories: list[int], network: int) -> None:
    small, large = (buffer(round(size * GIB), memory * GIB, network) for memory in memories)
    if small is not None:
        assert large is not None
        assert (large.readers, large.limit) >= (small.readers, small.limit)
