"""The budget as text and as JSON: narrow, plain, and its sums add up."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from serving.budget.predict import causes
from serving.budget.report import WIDTH, mapping, report
from serving.pod import Situation
from serving.techniques import TECHNIQUES
from tests.serving.budget.article import STEPS, article
from tests.serving.situations import situation

L40S = {"product": "l40s", "instanceTypes": ["g6e.8xlarge", "g6e.2xlarge"], "techniques": []}
KV = {"kv": {"layers": 60, "kvHeads": 16, "headDim": 256, "slidingLayers": 50, "slidingWindow": 1024}}

STEP_5 = """\
chat: predicted start on g7e.2xlarge in seconds (m: measured, p: published, e: estimated)
  phase                  fresh node    warm node      restart         wake  by
  node                       31.0 e          -            -            -
  scheduling                 15.0 m          -            -            -
  image pull                 64.5 m       64.5 m          -            -
  container start             4.0 m        4.0 m        4.0 m          -
  imports                    12.7 e       12.7 e       12.7 e          -
  model inspection           13.1 e       13.1 e        0.2 e          -    node-cache
  engine imports             13.2 e       13.2 e       13.2 e          -
  weights                    19.8 m       19.8 m       19.8 m          -    streaming-loader
  compile                    51.0 m       51.0 m        6.6 m          -    node-cache
  kernels                    20.5 e       20.5 e        0.5 e          -    node-cache
  graphs                     22.5 e       22.5 e       22.5 e          -
  API start                  46.0 m       46.0 m       46.0 m          -
  priming                    13.8 e       13.8 e       13.8 e          -    sleep-mode
  readiness                   7.0 m        7.0 m        7.0 m          -
  wake                          -            -            -          1.0 m  sleep-mode
  total                     334.1        288.1        146.3          1.0
    measured                  62%          67%          57%         100%
    published                  0%           0%           0%           0%
    estimated                 38%          33%          43%           0%
  streamer            64 readers x 0.17 GiB + buffer 31.1 GiB + engine 6.0 GiB = 48.0 GiB of 50 GiB (50 Gbit/s
                      want 64)
  host memory         engine 6.0 GiB + the larger of loading 42.0 GiB, weights pinned by sleep 43.7 GiB = 49.7
                      GiB of 50 GiB
  GPU memory          86.4 GiB share - 31.2 GiB weights - 1.0 GiB activations = 54.2 GiB for the KV cache; how
                      many tokens that holds is not known without model.kv
  disk                32.0 GiB image + 2.0 GiB caches = 34.0 GiB of 1615 GiB of local NVMe on g7e.2xlarge"""


def test_the_report_of_the_articles_sleeping_server() -> None:
    assert report("chat", article(), STEPS["step-5"]) == STEP_5


def tail(text: str) -> list[str]:
    """What stands below the grid."""
    lines = text.splitlines()
    return lines[next(i for i, line in enumerate(lines) if line.startswith("    estimated")) + 1 :]


def test_slower_types_and_what_the_streamer_would_do_alone_are_one_line_each() -> None:
    assert tail(report("chat", situation(nodes=L40S, model=KV), STEPS["step-2"])) == [
        "  on g6e.2xlarge      fresh node +43.5 s, warm node +43.5 s, restart +43.5 s",
        "  streamer            8 readers x 0.17 GiB + buffer 31.1 GiB + engine 6.0 GiB = 38.5 GiB of 50 GiB (5 Gbit/s",
        "                      want 8)",
        "    alone             g6e.8xlarge: 32 readers x 0.17 GiB + buffer 31.1 GiB + engine 6.0 GiB = 42.6 GiB of 50",
        "                      GiB (25 Gbit/s want 32)",
        "  host memory         engine 6.0 GiB + loading 32.5 GiB = 38.5 GiB of 50 GiB",
        "  GPU memory          40.2 GiB share - 31.2 GiB weights - 1.0 GiB activations = 8.0 GiB for the KV cache: 1.1",
        "                      requests of 8192 tokens",
        "  disk                32.0 GiB image + 2.0 GiB caches = 34.0 GiB of 382 GiB of local NVMe on g6e.2xlarge",
    ]


def test_the_report_of_several_ranks_counts_the_memory_of_all() -> None:
    about = situation(
        nodes={"product": "h100", "instanceTypes": ["p5.48xlarge"], "maxGpus": 8, "techniques": []},
        engine={"tensorParallel": 8},
        model={"sizeGib": 400},
        resources={"memoryGib": 600},
    )
    assert tail(report("chat", about, STEPS["step-1"]))[:5] == [
        "  streamer            8 ranks x (8 readers x 0.17 GiB + buffer 70.9 GiB) + engine 6.0 GiB + 7 further ranks x",
        "                      2.0 GiB + /dev/shm 2 GiB = 600.0 GiB of 600 GiB (each of 8 ranks reads the whole",
        "                      checkpoint: 3200 GiB; 3200 Gbit/s want 8 a rank; the checkpoint has 408.0 GiB, so each",
        "                      refill is a wait)",
        "  host memory         engine 6.0 GiB + 7 further ranks x 2.0 GiB + /dev/shm 2 GiB + loading 578.0 GiB = 600.0",
    ]


def test_types_that_start_equally_fast_are_not_compared() -> None:
    about = situation(nodes={"instanceTypes": ["g7e.2xlarge", "g7e.4xlarge"]}, model=KV)
    assert tail(report("chat", about, ())) == [
        "  host memory         engine 6.0 GiB = 6.0 GiB of 50 GiB",
        "  GPU memory          86.4 GiB share - 31.2 GiB weights - 1.0 GiB activations = 54.2 GiB for the KV cache:"
        " 7.2",
        "                      requests of 8192 tokens",
        "  disk                32.0 GiB image + 2.0 GiB caches = 34.0 GiB of 1615 GiB of local NVMe on g7e.2xlarge",
    ]


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("about", [article(), situation(), situation(nodes=L40S, model=KV)], ids=["000", "dev", "l40s"])
def test_the_report_is_narrow_plain_text(step: str, about: Situation) -> None:
    text = report("a-server-with-a-name-of-30-char", about, STEPS[step])
    assert text.isascii()
    assert all(line.isprintable() and len(line) <= WIDTH and line == line.rstrip() for line in text.splitlines())


def starts(plain: dict[str, Any]) -> list[dict[str, Any]]:
    return [start for kind in plain.values() for start in kind.values()]


@given(names=st.sets(st.sampled_from(list(TECHNIQUES))).map(tuple), size=st.floats(min_value=0.1, max_value=86))
def test_what_is_published_adds_up_and_is_json(names: tuple[str, ...], size: float) -> None:
    plain = mapping(situation(model={"sizeGib": size}), names)
    assert json.loads(json.dumps(plain)) == plain
    assert list(plain) == ["g7e.2xlarge", "g7e.4xlarge"]
    for start in starts(plain):
        assert start["seconds"] == pytest.approx(sum(phase["seconds"] for phase in start["phases"].values()))
        assert start["seconds"] == pytest.approx(start["measured"] + start["published"] + start["estimated"])


def test_a_server_that_cannot_sleep_publishes_no_wake() -> None:
    kinds = ["freshNode", "warmNode", "restart"]
    assert list(mapping(article(), STEPS["step-2"])["g7e.2xlarge"]) == kinds
    assert list(mapping(article(), STEPS["step-5"])["g7e.2xlarge"]) == [*kinds, "wake"]


def test_the_pools_techniques_count_without_being_named() -> None:
    about = situation(nodes={"techniques": ["image-prepull"], "updateWindow": "never"})
    pull = mapping(about, ())["g7e.2xlarge"]["freshNode"]["phases"]["imagePull"]
    assert pull == {"seconds": 36.0, "evidence": "estimated"}


def test_a_phase_says_which_techniques_changed_it() -> None:
    names = ("streaming-loader", "node-cache", "cache-restore", "warm-up-request")
    by = causes(situation(), names, situation().pool.types[0])
    assert by == {
        "weights": ("streaming-loader",),
        **dict.fromkeys(("model inspection", "compile", "kernels"), ("node-cache", "cache-restore")),
        "restore": ("cache-restore",),
    }
